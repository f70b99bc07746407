"""A whole path by clicks alone: an untouched file, a release that opens, its estimates."""

import random
import signal
from pathlib import Path

import pytest
from tests.app.conftest import serve
from tests.app.looking import faults, fits, open_file

import pramble

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("desk")]

ROWS = 3000


@pytest.fixture
def served(tmp_path):
    """A desk of each test's own: a ledger knows files and people again."""
    found = serve(tmp_path / "home")
    yield found
    found.process.send_signal(signal.SIGINT)
    found.process.communicate(timeout=20)


@pytest.fixture
def file(served):
    """People with semicolons, missing values, ages in years, an identifier and a weight."""
    path = served.home / "files" / "people.csv"
    path.parent.mkdir()
    draw = random.Random(7)
    lines = ["id;sex;age;status;weight"]
    for number in range(ROWS):
        age = draw.randint(0, 95)
        status = "single" if age < 15 else draw.choice(["single", "married", "widowed"])
        shown = "NA" if draw.random() < 0.02 else str(age)
        lines.append(f"p{number:05};{draw.choice('mw')};{shown};{status};{draw.choice('123')},5")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def to_columns(page, file):
    """Open a file and say what its columns are, each step by its own button."""
    open_file(page, file)
    page.get_by_role("button", name="Go on: columns").click()
    page.get_by_label("What happens to weight").select_option("drop")
    page.get_by_role("button", name="age", exact=True).click()
    page.get_by_role("heading", name="age", exact=True).wait_for()
    page.get_by_label("Bands of numbers").fill("0, 15, 30, 45, 60, 75")
    page.get_by_role("button", name="Apply").first.click()
    page.get_by_role("cell", name="15-29").wait_for()


def to_release(page, promise, people):
    """Promise α, make a dry run and release; return the folder."""
    to_promise(page, promise)
    return release(page, people)


def to_promise(page, promise):
    """Promise α."""
    page.get_by_role("button", name="Go on: the promise").click()
    exact = page.get_by_label("α, exactly")
    exact.fill(promise)
    exact.press("Enter")
    page.get_by_text(f"α = {promise}: half sure becomes").wait_for()
    page.get_by_role("region", name="Expected precision of tables").wait_for()


def release(page, people):
    """Go on from the promise, make a dry run and release; return the folder."""
    page.get_by_role("button", name="Go on: release").click()
    folder = Path(page.get_by_label("Folder to make").input_value())
    page.get_by_label("The name under which the ledger").fill(people)
    page.get_by_label("The name under which the ledger").press("Enter")
    page.get_by_label("The plan").get_by_text(f'people = "{people}"').wait_for()
    page.get_by_role("button", name="Dry run").click()
    page.get_by_text("The dry run: nothing was written").wait_for()
    assert not folder.exists()
    page.locator("button:enabled", has_text="Release now").click()
    page.get_by_role("heading", name="Released").wait_for()
    return folder


def test_from_an_untouched_file_to_a_release_and_its_reader(page, served, file):
    before = file.read_bytes()
    to_columns(page, file)
    folder = to_release(page, "4", "villagers")
    assert folder == file.parent / "people-release"

    opened = pramble.open_release(folder)
    assert opened.data.num_rows == ROWS
    assert set(opened.data.column_names) == {"sex", "age", "status"}
    assert opened.alpha <= 4
    ages = set(opened.data["age"].to_pylist()) - {None}  # a record may tell some columns only
    assert ages == {"0-14", "15-29", "30-44", "45-59", "60-74", "75+", "missing"}
    sources = {one["name"]: one["categories_from"] for one in opened.manifest["columns"]}
    assert sources == {"sex": "seen", "age": "seen", "status": "seen"}
    assert file.read_bytes() == before
    assert "p00001" not in served.errors.read_text()

    page.get_by_role("button", name="Read it as an analyst").click()
    page.get_by_label("First column").select_option("sex")
    page.get_by_role("button", name="Estimate").click()
    region = page.get_by_role("region", name="Shares by sex")
    region.wait_for()
    shown = region.get_by_role("cell").all_text_contents()
    own = pramble.estimate(opened, by=["sex"])
    assert shown[1] == f"{100 * own.values[0]:.2f} %"
    assert fits(page)
    assert not faults(page)


def test_a_central_promise_by_default_clicks_gives_tables_and_complete_records(page, served, file):
    to_columns(page, file)
    page.get_by_role("button", name="Go on: the promise").click()
    page.get_by_label("Central ε and δ").check()
    page.get_by_role("columnheader", name="noise, people a cell").wait_for()
    folder = release(page, "townsfolk")
    assert page.get_by_label("The format of the data").count() == 0
    assert page.get_by_label("The rows are released in a random order").count() == 0

    names = {path.name for path in folder.iterdir()}
    assert names >= {"tables.parquet", "synthetic.parquet", "summary.html", "manifest.json"}
    opened = pramble.open_release(folder)
    assert opened.data is None
    assert opened.central.shown <= 1
    assert opened.synthetic.num_rows == ROWS
    assert set(opened.synthetic.column_names) == {"sex", "age", "status"}
    assert ("sex", "age") in opened.plan.tables
    assert fits(page)
    assert not faults(page)

    page.get_by_role("button", name="Read it as an analyst").click()
    page.get_by_text("protected tables").locator("visible=true").first.wait_for()
    page.get_by_label("First column").select_option("sex")
    page.get_by_label("Second column").select_option("age")
    page.get_by_role("button", name="Estimate").click()
    region = page.get_by_role("region", name="Shares by sex × age")
    region.wait_for()
    own = pramble.estimate(opened, by=["sex", "age"])
    shown = region.get_by_role("cell").all_text_contents()
    assert shown[2] == f"{100 * own.values[0]:.2f} %"
    page.get_by_label("Formula").fill("sex ~ C(status)")
    page.get_by_role("button", name="Fit").click()
    page.locator("#read-fit_answer").get_by_role("cell", name="Intercept").wait_for()
    page.get_by_label("Third column").select_option("status")
    page.get_by_role("button", name="Estimate").click()
    page.get_by_role("region", name="Shares by sex × age × status").wait_for()
    modelled = pramble.estimate(opened, by=["sex", "age", "status"]).is_modelled
    note = page.get_by_role("status").filter(has_text="Modelled: these columns were not measured")
    assert note.count() == modelled
    page.set_viewport_size({"width": 390, "height": 900})
    assert fits(page)
    assert not faults(page)


def test_two_curators_at_once_release_what_is_theirs(new_page, served, file):
    other = file.with_name("others.csv")
    other.write_text(file.read_text().replace(";m;", ";male;"), encoding="utf-8")
    pages = [new_page(), new_page()]
    for page, own in zip(pages, (file, other), strict=True):
        page.goto(served.address)
        to_columns(page, own)
        page.get_by_label("What happens to status").select_option("drop")
    folders = [
        to_release(page, promise, f"of {promise}")
        for page, promise in zip(pages, "36", strict=True)
    ]
    one, two = map(pramble.open_release, folders)
    assert set(one.data["sex"].to_pylist()) - {None} == {"m", "w"}
    assert set(two.data["sex"].to_pylist()) - {None} == {"male", "w"}
    assert one.alpha <= 3 < two.alpha <= 6
    assert pages[0].get_by_text("others.csv").count() == 0


def test_a_design_is_stopped_and_leaves_nothing(page, served, file):
    to_columns(page, file)
    page.get_by_role("button", name="Go on: the promise").click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped; nothing was changed.").wait_for()
    page.get_by_role("button", name="Go on: release").click()
    page.get_by_role("button", name="Dry run").click()
    page.get_by_text("designing").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_label("Release", exact=True).get_by_text("Stopped; nothing was changed.").wait_for()
    assert sorted(path.name for path in file.parent.iterdir()) == ["people.csv"]
    page.get_by_role("button", name="Dry run").click()  # and it works on
    page.get_by_text("The dry run: nothing was written").wait_for()


def peak_memory(pid):
    """The most memory that a process, and each of its children, has had so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    peaks = [1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:")]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            peaks += peak_memory(child)
    return peaks


@pytest.mark.slow
def test_a_gigabyte_is_uploaded_in_little_memory(new_page, served, tmp_path):
    path = tmp_path / "large.csv"
    draw = random.Random(1)
    lines = [
        f"{draw.choice('mw')};{draw.randint(0, 95)};{draw.randrange(10**9)}\n" for _ in range(10**5)
    ]
    block = "".join(lines).encode()
    with path.open("wb") as out:
        out.write(b"sex;age;code\n")
        for _ in range(-(-(2**30) // len(block))):
            out.write(block)
    page = new_page()
    page.set_default_timeout(400_000)
    page.goto(served.address)
    page.get_by_label("From this browser").set_input_files(path)
    page.get_by_role("region", name="The first 20 rows").wait_for()
    server, *others = peak_memory(served.process.pid)
    assert server < 250e6  # it only passes the file on to the disk
    assert max(others) < 500e6  # what looks at the file
    page.get_by_role("button", name="Go on: columns").click()
    page.get_by_role("region", name="Categories, in order").wait_for()
    assert max(peak_memory(served.process.pid)) < 500e6
