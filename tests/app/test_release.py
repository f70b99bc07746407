"""The fourth step in a browser: what is refused, a dry run, and a release that opens."""

import re

import pytest
from tests.app.looking import faults, fits

import pramble

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("desk")]


def at_release(page, small_file):
    page.get_by_label("Path of the file").fill(str(small_file))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("button", name="Go on: columns").wait_for()
    page.get_by_role("tab", name="4. Release").click()
    page.get_by_role("button", name="Dry run").wait_for()


def test_a_desk_that_is_not_ready_says_what_is_missing(page):
    page.get_by_role("tab", name="4. Release").click()
    page.get_by_text("No file is open.").wait_for()
    page.get_by_role("button", name="Go to the file").click()
    page.get_by_role("button", name="Take the built-in people").click()
    page.get_by_role("button", name="Go on: columns").wait_for()
    page.get_by_role("tab", name="4. Release").click()
    # What was seen in the file is released as seen, after a dry run that says so.
    page.get_by_role("button", name="Dry run").wait_for()
    assert page.get_by_role("button", name="Release now").is_disabled()
    page.get_by_label("The plan").get_by_text('categories = {"seen" = [').first.wait_for()


def test_a_dry_run_then_the_release_itself(page, served, small_file):
    at_release(page, small_file)
    release = page.get_by_role("button", name="Release now")
    assert release.is_disabled()
    page.get_by_label("The rows are released in a random order").uncheck()
    target = page.get_by_label("Folder to make")
    proposed = target.input_value()
    assert proposed == str(small_file.parent / "small-release")

    target.fill(str(small_file))  # exists, and is no folder
    target.press("Enter")
    page.get_by_role("alert").get_by_text("choose another name").wait_for()
    target.fill(proposed)
    target.press("Enter")
    page.get_by_role("alert").wait_for(state="detached")

    page.get_by_role("button", name="Dry run").click()
    page.get_by_text("The dry run: nothing was written").wait_for()
    assert not (small_file.parent / "small-release").exists()
    page.reload()
    page.get_by_text("The dry run: nothing was written").wait_for()
    page.locator("button:enabled", has_text="Release now").wait_for()

    page.get_by_label("CSV").check()  # another plan
    page.get_by_text("has changed since this dry run").wait_for()
    assert release.is_disabled()
    page.get_by_label("CSV").uncheck()
    page.locator("button:enabled", has_text="Release now").click()
    page.get_by_role("heading", name="Released").wait_for()
    opened = pramble.open_release(small_file.parent / "small-release")
    assert opened.data.num_rows == 2000
    assert opened.alpha <= 2.0
    page.get_by_text("What all releases of these people have spent").wait_for()
    page.set_viewport_size({"width": 390, "height": 900})
    assert fits(page)
    assert not faults(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    frames = page.locator("iframe.page")
    assert frames.count() == 2
    assert frames.first.get_attribute("sandbox") == ""
    assert re.search("Protected data set of 2,000 records", frames.first.get_attribute("srcdoc"))

    page.reload()
    page.get_by_role("heading", name="Released").wait_for()
    assert release.is_disabled()  # of another target, which was not rehearsed
    page.get_by_role("button", name="Read it as an analyst").click()
    page.get_by_role("heading", name="Read a release").wait_for()
    page.get_by_text("What is promised").wait_for()
    assert "Traceback" not in served.errors.read_text()
