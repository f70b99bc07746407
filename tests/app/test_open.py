"""Step 1: files on the machine, uploads, the built-in people; wrong files; several desks."""

import re
import stat

import pytest
from tests.app.conftest import serve
from tests.app.looking import faults, fits, open_file

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("desk")]

ROWS = [("id", "sex", "age"), ("p1", "w", "30"), ("p2", "m", "NA"), ("p3", "m", "51")]


def as_text(separator=";"):
    return "\n".join(separator.join(row) for row in ROWS) + "\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(as_text(), encoding="utf-8")
    return path


def test_a_file_is_read_as_it_is_and_its_first_rows_are_shown(page, file):
    open_file(page, file)
    assert page.get_by_text("3 rows and 3 columns").is_visible()
    cells = page.get_by_role("region", name="The first 3 rows").get_by_role("cell")
    assert cells.all_text_contents()[:3] == ["p1", "w", "30"]
    assert fits(page)
    assert not faults(page)


def test_how_it_is_read_can_be_corrected(page, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("a|b;c\n1|2;3\n4|5;6\n", encoding="utf-8")
    open_file(page, path)
    page.get_by_text("How the file is read").click()
    page.get_by_label("The character between fields").fill("|")
    page.get_by_role("button", name="Read again").click()
    page.get_by_role("columnheader", name="b;c").wait_for()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "is empty"),
        ("people.parquet", b"this is no parquet file", "people.parquet"),
        ("people.xyz", b"a\n1\n", "people.xyz"),
    ],
)
def test_a_wrong_file_is_told_in_a_sentence_in_its_place(page, tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    page.get_by_label("Path of the file").fill(str(path))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("alert").wait_for()
    told = page.get_by_role("alert").text_content()
    assert said in told
    assert "Traceback" not in told
    assert not page.get_by_role("region", name="The first").is_visible()


def test_a_path_that_leads_nowhere_or_was_not_written(page):
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_text("Write the path of a file").wait_for()
    page.get_by_label("Path of the file").fill("/nowhere/people.csv")
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_text("There is no file").wait_for()


def test_an_upload_is_private_and_gone_when_the_desk_is(new_page, file, tmp_path):
    served = serve(tmp_path / "home")
    page = new_page()
    page.goto(served.address)
    page.get_by_label("From this browser").set_input_files(file)
    page.get_by_role("region", name="The first 3 rows").wait_for()
    kept = [path for path in (served.home / "temporary").rglob("*") if path.is_file()]
    assert [path.read_text() for path in kept] == [as_text()]
    assert stat.S_IMODE(kept[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(kept[0].parent.stat().st_mode) == 0o700
    page.close()
    served.process.terminate()
    served.process.communicate(timeout=20)
    assert not [path for path in (served.home / "temporary").rglob("*") if path.is_file()]
    assert (
        served.errors.read_text().strip() == "Open this address in a browser; Ctrl+C ends the desk."
    )


def test_a_reload_shows_the_same_and_another_browser_sees_nothing_of_it(new_page, served, file):
    page, other = new_page(), new_page()
    page.goto(served.address)
    open_file(page, file)
    refused = other.request.get(page.url)  # the address alone opens nothing
    assert refused.status == 403
    assert "token" in refused.text()
    assert "p1" not in refused.text()
    other.goto(served.address)
    other.goto(page.url)  # with a cookie of its own, the same name is another desk
    other.get_by_role("heading", name="Which file?").wait_for()
    assert other.get_by_text("people.csv").count() == 0
    page.reload()
    page.get_by_role("region", name="The first 3 rows").wait_for()
    assert re.search("token", page.url) is None


@pytest.mark.parametrize("width", [390, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_built_in_people_at_any_width_and_in_the_dark(new_page, served, width, scheme):
    page = new_page(width, color_scheme=scheme)
    page.goto(served.address)
    page.get_by_role("button", name="Take the built-in people").click()
    page.get_by_role("region", name="The first 20 rows").wait_for()
    assert fits(page)
    assert not faults(page)
