"""What tests of the desk look at: whether a page fits its window, and everybody can use it."""

from pathlib import Path


def fits(page):
    """Whether a page is no wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


TORN = """
() => [...document.querySelectorAll("td")].filter((cell) => {
  const words = document.createRange();
  words.selectNodeContents(cell);
  return /^[-±+.,%0-9]+$/.test(cell.textContent.trim()) && words.getClientRects().length > 1;
}).map((cell) => cell.textContent)
"""


def torn(page):
    """Figures in tables that are broken over several lines."""
    return page.evaluate(TORN)


def faults(page):
    """What axe-core finds to be serious: the rule, and what breaks it."""
    import axe_playwright_python

    script = Path(axe_playwright_python.__file__).parent / "axe.min.js"
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations'], preload: false})")["violations"]
    return [
        (one["id"], [node["html"][:160] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def open_file(page, path):
    """Open a file by its path, and wait until its first rows are shown."""
    page.get_by_label("Path of the file").fill(str(path))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("region", name="The first").wait_for()
