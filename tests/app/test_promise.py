"""The third step in a browser: a slider over promises, and figures that follow it."""

import re

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("desk")]

NUMBER = re.compile(r"\d")


def step(page, name):
    page.get_by_role("tab", name=name).click()


def cards(page):
    """The figures of the third step, by what they are."""
    section = page.get_by_label("Promise", exact=True)
    return section.locator("dd").all_text_contents()


def listed(home):
    """Every file of the user, but what the app and the fonts of its figures keep for themselves."""
    own = {"temporary", ".cache", ".config"}
    found = (path for path in home.rglob("*") if not own & set(path.parts))
    return sorted(str(path) for path in found)


def at_promise(page, small_file):
    page.get_by_label("Path of the file").fill(str(small_file))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("button", name="Go on: columns").wait_for()
    step(page, "3. Promise")
    page.get_by_role("slider").wait_for()


def test_figures_follow_the_slider_and_nothing_is_written(page, served, small_file):
    before = listed(served.home)
    at_promise(page, small_file)
    slider = page.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext").startswith("α = 2:")
    page.get_by_role("region", name="Expected precision of tables").wait_for()
    first = cards(page)
    assert len(first) == 3
    assert all(NUMBER.search(figure) for figure in first)
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("α = 3: half sure becomes").wait_for()
    page.locator("dd", has_text="× 20").wait_for()
    page.get_by_role("img", name="α = 3, has a ring").wait_for()
    page.get_by_role("region", name="Expected precision of tables").wait_for()
    page.locator("dd").nth(2).wait_for()  # the figures of the file come after the promise's own
    second = cards(page)
    assert all(one != two for one, two in zip(first, second, strict=True))
    page.keyboard.press("ArrowLeft")  # the slider has kept the focus
    page.keyboard.press("ArrowLeft")
    page.get_by_role("img", name="α = 1.5, has a ring").wait_for()
    page.reload()
    page.get_by_role("img", name="α = 1.5, has a ring").wait_for()
    assert page.get_by_role("slider").get_attribute("aria-valuetext").startswith("α = 1.5:")
    assert len(cards(page)) == 3
    assert listed(served.home) == before


def test_an_exact_promise_is_a_notch_and_a_wrong_one_is_refused_in_place(page, small_file):
    at_promise(page, small_file)
    exact = page.get_by_label("α, exactly")
    exact.fill("-3")
    exact.press("Enter")
    page.get_by_role("alert").get_by_text("must be a positive number").wait_for()
    exact.fill("2.5")
    exact.press("Enter")
    page.get_by_text("α = 2.5: half sure becomes").wait_for()
    page.get_by_role("alert").wait_for(state="detached")
    page.get_by_label("Central ε and δ").check()
    page.get_by_label("ε, exactly").wait_for()
    page.get_by_label("δ: the chance").select_option("1e-08")
    page.get_by_label("Local").check()
    page.get_by_text("α = 2.5: half sure becomes").wait_for()  # it was kept


def test_a_central_promise_is_kept_by_either_design(page, small_file):
    at_promise(page, small_file)
    page.get_by_label("Central ε and δ").check()
    page.get_by_role("columnheader", name="noise, people a cell").wait_for()
    page.get_by_role("heading", name="How noisy the tables would be").wait_for()
    page.get_by_label("What is released").select_option("records")
    page.get_by_role("heading", name="How records are changed").wait_for()
    assert page.get_by_role("columnheader", name="noise, people a cell").count() == 0


def test_trials_stop_and_go_on_with_another_promise(page, small_file):
    at_promise(page, small_file)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped; nothing was changed.").wait_for()
    page.reload()
    page.get_by_text("Stopped; nothing was changed.").wait_for()
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("region", name="Expected precision of tables").wait_for()
    assert len(cards(page)) == 3
