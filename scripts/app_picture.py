"""Take the README's picture of the desk: ``python scripts/app_picture.py docs/_static/app.png``.

It opens made-up people in a real browser, goes to the promise, and waits for the whole curve.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from playwright.sync_api import sync_playwright

import pramble

COLUMNS = ["SEX", "MARST", "EDUC"]
SIZE = {"width": 1100, "height": 1000}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def take(address: str, file: Path, out: Path) -> None:
    """Go from a file to the promise, as a curator would, and take the picture."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(300_000)
        page.goto(address)
        page.get_by_label("Path of the file").fill(str(file))
        page.get_by_role("button", name="Open", exact=True).click()
        page.get_by_role("button", name="Go on: columns").click()
        page.get_by_label("The tables that readers will want").fill("2")
        page.get_by_label("The tables that readers will want").blur()
        page.get_by_role("button", name="Go on: the promise").click()
        page.get_by_role("region", name="Expected precision of tables").wait_for()
        page.get_by_role("button", name="Stop").wait_for(state="detached")  # all are known
        page.get_by_role("slider").focus()
        page.keyboard.press("ArrowRight")
        page.get_by_role("img", name="α = 3, has a ring").wait_for()
        page.get_by_role("slider").blur()
        page.wait_for_timeout(2000)  # the line that tells of work fades
        page.screenshot(path=out, full_page=True)
        browser.close()


def main(out: Path) -> None:
    """Serve a desk, take the picture, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.parquet"
        pq.write_table(pramble.datasets.synthetic_new_york(100_000).select(COLUMNS), file)
        desk = subprocess.Popen(
            [sys.executable, "-c", "from pramble.cli import main; main()", "app", "--no-browser"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert desk.stdout is not None
        try:
            take(desk.stdout.readline().strip(), file, out)
        finally:
            desk.terminate()
            desk.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
