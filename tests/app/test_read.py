"""Step 5 in a browser: a folder is opened, and asked for tables and regressions."""

import csv
import math
import shutil

import pyarrow.parquet as pq
import pytest
from tests.app.looking import faults, fits, torn

import pramble

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("desk")]

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder with a confidential file, and releases of it: with blanks, shuffled, by columns."""
    place = tmp_path_factory.mktemp("releases")
    people = pramble.datasets.synthetic_new_york(20_000)
    pq.write_table(people, place / "people.parquet")

    def make(name, columns, kept=(), **settings):
        shown = {*columns, *kept}
        pramble.release(
            place / "people.parquet",
            place / name,
            columns=columns,
            prior="uniform",
            key=KEY,
            ledger=False,
            pages=False,
            drop=[one for one in people.column_names if one not in shown],
            allow=list(kept),
            **settings,
        )

    make("local", ["SEX", "MARST", "EMPSTAT"], ["AGE"], alpha=2.0)
    make("central", ["SEX", "MARST"], central=3.0, tables=1, design="records")
    make("paper", ["SEX", "MARST"], alpha=3.0, design="paper")
    return place


def open_folder(page, folder):
    """Go to step 5, once the page does something when it is used, and open a folder."""
    page.locator("#read-where.shiny-bound-output").wait_for(state="attached")
    page.get_by_role("tab", name="5. Read").click()
    page.get_by_label("Path of a release folder").fill(str(folder))
    page.locator("#read-open").click()


def asked(page, button, answer):
    """Press a button, and return the rows of the table that comes, as texts."""
    page.get_by_role("button", name=button, exact=True).click()
    return rows_of(page, answer)


def rows_of(page, answer):
    rows = page.locator(f"#read-{answer} tbody tr")
    rows.first.wait_for()
    return [one.split("\t") for one in rows.all_inner_texts()]


def percent(share):
    return "—" if math.isnan(share) else f"{100 * share:.2f} %"


def shown(estimate):
    """An estimate as the page is to show it."""
    figures = (estimate.values, estimate.standard_errors, estimate.lower, estimate.upper)
    return [
        [*map(str, cell), *(percent(one) for one in own)]
        for cell, own in zip(
            zip(*estimate.cells.values(), strict=True), zip(*figures, strict=True), strict=True
        )
    ]


def test_what_is_no_release_or_not_its_file_is_refused_in_a_sentence(page, folders, tmp_path):
    open_folder(page, tmp_path / "nowhere")
    alert = page.get_by_role("alert")
    alert.get_by_text("does not exist").wait_for()
    open_folder(page, tmp_path)
    alert.get_by_text("is no release: it has no manifest.json").wait_for()
    open_folder(page, folders / "people.parquet")
    alert.get_by_text("is a file, not a folder").wait_for()
    open_folder(page, "")
    alert.get_by_text("Write the path of a release folder.").wait_for()
    tampered = tmp_path / "tampered"
    shutil.copytree(folders / "paper", tampered)
    data = bytearray((tampered / "randomised.parquet").read_bytes())
    data[200] ^= 1
    (tampered / "randomised.parquet").write_bytes(data)
    open_folder(page, tampered)
    alert.get_by_text("SHA-256").wait_for()
    assert page.get_by_role("button", name="Estimate").count() == 0
    open_folder(page, folders / "paper")
    page.get_by_role("button", name="Estimate").wait_for()
    assert alert.count() == 0


def test_tables_and_regressions_are_those_of_the_verbs_and_outlive_a_reload(page, folders):
    open_folder(page, folders / "local")
    release = pramble.open_release(folders / "local")
    page.get_by_role("heading", name="What is promised").wait_for()
    text = page.locator("#read-promised").inner_text()
    assert "α of a person\t2" in text
    assert release.manifest["promise"]["sentence"] in text
    assert "not protected: AGE" in text

    page.get_by_label("First column").select_option("MARST")
    one = pramble.estimate(release, by="MARST")
    assert asked(page, "Estimate", "table_answer") == shown(one)

    page.get_by_label("Second column").select_option("AGE")
    page.get_by_role("button", name="Estimate", exact=True).click()
    page.get_by_text("Shares by MARST × AGE").wait_for()
    page.get_by_text("intervals are wider than the estimate").wait_for()
    two = pramble.estimate(release, by=["MARST", "AGE"])
    assert rows_of(page, "table_answer")[:200] == shown(two)[:200]

    page.get_by_label("Second column").select_option("")
    page.get_by_label("Shares within each").select_option("SEX")
    page.get_by_role("button", name="Estimate", exact=True).click()
    page.get_by_text("Shares by MARST within each SEX").wait_for()
    within = pramble.estimate(release, by="MARST", given="SEX")
    assert rows_of(page, "table_answer") == shown(within)
    with page.expect_download() as started:
        page.locator("#read-table_csv").click()
    assert started.value.suggested_filename == "estimate.csv"
    with started.value.path().open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["lower"]) for row in rows] == within.lower.tolist()
    assert [row["MARST"] for row in rows] == list(within.cells["MARST"])

    formula = "C(EMPSTAT == 'Employed') ~ SEX"
    page.get_by_label("Formula").fill("EMPSTAT == ~ SEX")
    page.get_by_role("button", name="Fit").click()
    page.get_by_role("alert").get_by_text("A formula must be like").wait_for()
    page.get_by_label("Formula").fill(formula)
    fit = pramble.estimate_regression(release, formula=formula)
    coefficients = asked(page, "Fit", "fit_answer")
    assert [row[0] for row in coefficients] == list(fit.names)
    assert [float(row[1]) for row in coefficients] == pytest.approx(fit.coefficients, rel=1e-4)
    assert [float(row[6]) for row in coefficients] == pytest.approx(fit.upper, rel=1e-4)

    page.reload()
    assert rows_of(page, "table_answer") == shown(within)
    assert rows_of(page, "fit_answer") == coefficients
    assert page.get_by_label("First column").input_value() == "MARST"
    assert page.get_by_label("Shares within each").input_value() == "SEX"
    assert page.get_by_label("Formula").input_value() == formula
    assert page.get_by_label("Path of a release folder").input_value() == str(folders / "local")

    page.get_by_label("Second column").select_option("SEX")
    page.get_by_role("button", name="Estimate", exact=True).click()
    page.get_by_role("alert").get_by_text("'SEX' is chosen twice").wait_for()


def test_a_shuffled_file_is_asked_for_numbers_of_records(page, folders):
    open_folder(page, folders / "central")
    page.get_by_text("at δ = 10⁻⁶").first.wait_for()
    page.get_by_label("First column").select_option("SEX")
    page.get_by_label("Answer in").select_option("counts")
    release = pramble.open_release(folders / "central")
    e = pramble.estimate(release, by="SEX")
    rows = asked(page, "Estimate", "table_answer")
    assert [row[1] for row in rows] == [f"{20_000 * one:,.0f}" for one in e.values]


def test_the_step_is_accessible_in_light_and_dark_and_fits_a_telephone(new_page, served, folders):
    page = new_page(color_scheme="light")
    page.goto(served.address)
    open_folder(page, folders / "paper")
    page.get_by_label("Second column").select_option("MARST")
    assert len(asked(page, "Estimate", "table_answer")) == 10
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.reload()
        rows_of(page, "table_answer")
        page.locator(f"html[data-bs-theme={scheme}]").wait_for()
        assert not faults(page)
    page.set_viewport_size({"width": 390, "height": 800})
    assert fits(page)
    assert not torn(page)
    assert not faults(page)
