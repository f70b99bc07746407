"""Every built page in a real browser; run with ``make test-docs``."""

import pytest
from tests.docs.looks import broken_links, wrong

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.xdist_group("pages")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wrong_with_any_page(pages, chromium, width, scheme):
    view = chromium.new_page(color_scheme=scheme)
    looked = pages if scheme == "light" else pages[:8]
    found = {path.name: wrong(view, path, width) for path in looked}
    view.close()
    told = [f"{name}: {kind}: {what}" for name, pairs in found.items() for kind, what in pairs]
    assert not told, "\n".join(told)


def test_no_link_leads_nowhere(pages):
    assert list(broken_links(pages)) == []


def test_there_is_a_box_to_search_in_that_finds(pages, chromium):
    index = next(path for path in pages if path.name == "search.html")
    view = chromium.new_page()
    view.goto(f"{index.as_uri()}?q=geometric")
    view.wait_for_selector("#search-results li", timeout=10_000)
    assert "geometric" in view.locator("#search-results").inner_text()
    view.close()


BAD = """<!doctype html><html><head><style>{style}</style></head><body><article>{body}</article>
</body></html>"""
MATH = '<math xmlns="http://www.w3.org/1998/Math/MathML">{}</math>'


@pytest.mark.parametrize(
    ("kind", "style", "body"),
    [
        ("overflow", "", '<div style="width: 2000px">wide</div>'),
        (
            "clipped",
            "",
            '<div style="overflow: hidden; width: 90px"><p style="width: 200px">cut</p></div>',
        ),
        ("scrolls", "pre { overflow: auto; }", f"<pre>{'code ' * 400}</pre>"),
        ("picture", "", '<img src="absent.png">'),
        ("console", "", "<script>console.error('oh')</script>"),
        ("console", "", "<script>nothing.here()</script>"),
        ("network", "", '<script src="https://example.org/a.js"></script>'),
        ("formula", "", "<p>so \\alpha is left</p>"),
        ("formula", "", f"<p>{MATH.format('')}</p>"),
        ("formula", "", f"<p>{MATH.format('<mi>x</mi><mo>=</mo><mn>1</mn>')}</p>"),
        (
            "formula",
            "div.math { overflow: auto; width: 60px; margin: 0 90px; } math { margin-left: -80px }",
            f'<div class="math">{MATH.format("<mi>clipped</mi>")}</div>',
        ),
    ],
)
def test_each_mistake_is_found(tmp_path, chromium, kind, style, body):
    path = tmp_path / "bad.html"
    path.write_text(BAD.format(style=style, body=body), encoding="utf-8")
    view = chromium.new_page()
    assert kind in {found for found, _ in wrong(view, path, 1280)}
    view.close()


def test_a_page_without_mistakes_has_none(tmp_path, chromium):
    path = tmp_path / "good.html"
    path.write_text(BAD.format(style="", body="<p>in order</p>"), encoding="utf-8")
    view = chromium.new_page()
    assert wrong(view, path, 390) == []
    view.close()


def test_broken_links_are_found(tmp_path):
    one, other = tmp_path / "one.html", tmp_path / "other.html"
    one.write_text('<a href="other.html#there"></a><a href="other.html#nowhere"></a>')
    other.write_text('<p id="there"></p><a href="absent.html"></a><a href="https://pypi.org"></a>')
    assert list(broken_links([one, other])) == [
        (one, "other.html#nowhere"),
        (other, "absent.html"),
    ]
