"""Step 2: what happens to columns, categories and bands, tables, rules, keys, persons."""

import random

import pytest
from tests.app.looking import faults, fits, open_file

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("desk")]


@pytest.fixture
def file(tmp_path):
    """People with semicolons, missing values and ages in years."""
    path, draw = tmp_path / "people.csv", random.Random(1)
    lines = ["id;sex;age;status"]
    for number in range(2000):
        age = "NA" if number % 50 == 0 else str(draw.randint(0, 90))
        status = draw.choice(["single", "married", "widowed"])
        lines.append(f"p{number};{draw.choice('mw')};{age};{status}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def columns(page, file):
    open_file(page, file)
    page.get_by_role("button", name="Go on: columns").click()
    page.get_by_role("heading", name="sex", exact=True).wait_for()
    return page


def counted(page):
    """The categories that are shown, with their rows."""
    region = page.get_by_role("region", name="Categories, in order")
    cells = region.get_by_role("cell").all_text_contents()
    return dict(zip(cells[::2], cells[1::2], strict=True))


def test_columns_are_told_apart_and_their_categories_counted(columns, file):
    assert columns.get_by_label("What happens to id").input_value() == "drop"
    assert columns.get_by_label("What happens to sex").input_value() == "randomise"
    columns.get_by_role("region", name="Categories, in order").wait_for()
    women = sum(line.split(";")[1] == "w" for line in file.read_text().splitlines()[1:])
    assert counted(columns)["w"] == f"{women:,}"
    columns.get_by_role("button", name="age", exact=True).click()
    columns.get_by_role("heading", name="age", exact=True).wait_for()
    columns.get_by_label("Bands of numbers").wait_for()
    columns.get_by_role("cell", name="75+").wait_for()
    assert fits(columns)
    assert not faults(columns)


def test_bands_are_changed_and_counted_anew(columns):
    columns.get_by_role("button", name="age", exact=True).click()
    columns.get_by_role("heading", name="age", exact=True).wait_for()
    columns.get_by_label("Bands of numbers").fill("0, 18, 65")
    columns.get_by_role("button", name="Apply").first.click()
    columns.get_by_role("cell", name="18-64").wait_for()
    assert list(counted(columns)) == ["0-17", "18-64", "65+", "missing"]
    assert counted(columns)["missing"] == "40"
    columns.get_by_label("Bands of numbers").fill("65, 0")
    columns.get_by_role("button", name="Apply").first.click()
    columns.get_by_text("two or more increasing numbers").wait_for()
    assert list(counted(columns)) == ["0-17", "18-64", "65+", "missing"]


def test_categories_are_merged_ordered_and_declared(columns):
    warning = columns.get_by_text("A release reveals its categories")
    assert warning.is_visible()
    columns.get_by_role("button", name="status").click()
    columns.get_by_role("heading", name="status", exact=True).wait_for()
    columns.get_by_label("Every possible label").fill("single\ntwo")
    columns.get_by_label("New labels").fill("two = married | widowed")
    columns.get_by_label("These are all there can be").check()
    columns.get_by_role("button", name="Apply").first.click()
    columns.get_by_role("cell", name="two").wait_for()
    assert list(counted(columns)) == ["single", "two"]
    columns.get_by_label("New labels").fill("")
    columns.get_by_label("Every possible label").fill("single\nmarried")
    columns.get_by_role("button", name="Apply").first.click()
    columns.get_by_text("must hold declared categories only").wait_for()
    columns.get_by_label("Every possible label").fill("single\nmarried\nwidowed\ndivorced")
    columns.get_by_role("button", name="Apply").first.click()
    columns.get_by_role("cell", name="divorced").wait_for()
    assert counted(columns)["divorced"] == "0"
    for name in ("sex", "age"):
        columns.get_by_role("button", name=name, exact=True).click()
        columns.get_by_role("heading", name=name, exact=True).wait_for()
        columns.get_by_label("These are all there can be").check()
        columns.get_by_role("button", name="Apply").first.click()
    warning.wait_for(state="hidden")


def test_a_column_that_is_kept_is_said_to_be_unprotected_and_a_reload_keeps_it(columns):
    columns.get_by_label("What happens to sex").select_option("keep")
    columns.get_by_text("Released as it is: it has no protection").wait_for()
    columns.reload()
    columns.get_by_label("What happens to sex").wait_for()
    assert columns.get_by_label("What happens to sex").input_value() == "keep"


def test_tables_rules_keys_and_persons_are_taken_or_refused_in_place(columns):
    tables = columns.get_by_label("The tables that readers will want")
    tables.fill("sex + height")
    tables.blur()
    columns.get_by_text("'height' is not among the randomised columns").wait_for()
    tables.fill("sex + age\nstatus")
    tables.blur()
    columns.get_by_text("'height' is not").wait_for(state="hidden")
    columns.get_by_label("Every record keeps all its columns").check()
    columns.get_by_text("Which records cannot occur?").click()
    rules = columns.get_by_label("Structural zeros")
    rules.fill('{ if = { age = "0-14" }, then = { height = "single" } }')
    rules.blur()
    columns.get_by_text("names 'height', which is not randomised").wait_for()
    rule = '{if = {age = "0-14"}, then = {status = "single"}, repair = {status = "single"}}'
    rules.fill(rule)
    rules.blur()
    columns.get_by_text("names 'height', which is not").wait_for(state="hidden")
    columns.get_by_text("What may an intruder know?").click()
    population = columns.get_by_label("How many people the file was sampled from")
    population.fill("many")
    population.blur()
    columns.get_by_text("must be a positive whole number").wait_for()
    population.fill("100,000")
    population.blur()
    columns.get_by_text("must be a positive whole number").wait_for(state="hidden")
    columns.get_by_text("Has a person several rows?").click()
    columns.get_by_label("Whose rows these are").fill("id")
    columns.get_by_label("Whose rows these are").blur()
    columns.reload()
    columns.get_by_text("Which records cannot occur?").click()
    assert '"0-14"' in rules.input_value()
    assert tables.input_value() == "sex + age\nstatus"
    assert columns.get_by_label("Every record keeps all its columns").is_checked()
    assert not faults(columns)


def test_people_with_several_rows_are_shown_and_stated(page, tmp_path):
    lines = ["patient_id;sex", *(f"p{i // 3:04d};{'mw'[i % 2]}" for i in range(900))]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    open_file(page, path)
    page.get_by_role("button", name="Go on: columns").click()
    page.get_by_text("Rows share values of 'patient_id': 300 of 300 have 3 rows.").wait_for()
    assert page.get_by_label("Whose rows these are").input_value() == "patient_id"
    assert not faults(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone_in_the_light_and_in_the_dark(new_page, served, file, scheme):
    page = new_page(390, color_scheme=scheme)
    page.goto(served.address)
    open_file(page, file)
    page.get_by_role("button", name="Go on: columns").click()
    page.get_by_role("heading", name="sex", exact=True).wait_for()
    assert fits(page)
    assert not faults(page)
