"""One promise, one number: every place that shows the promise of a release shows it alike."""

import html
import json
import re
import warnings

import pyarrow.parquet as pq
import pytest
from tests.releasing.test_summary import people
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.numbers import alpha_text, percent, sure

KINDS = {
    "tables": ["--central", "0.98765"],
    "shuffled": ["--central", "0.98765", "--set", "design=records"],
    "local": ["--alpha", "1.23456"],
    "several": ["--central", "1.23456", "--set", "rows_per_person=2"],
}
# What was allowed, what an attack shows and the part of α without its prior are other numbers.
OTHERS = re.compile(
    r"[Aa]t most [αε] = [\d.]+ (was )?allowed|go below (ε = )?[\d.]+|no ε below [\d.]+|"
    r"decided in integers: α = [\d.]+"
)


def ran(*arguments):
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    assert found.exit_code == 0, found.output
    return found.output


def words_of(page):
    text = re.sub(r"<(style|script|svg).*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_shows_the_same_promise(tmp_path, kind):
    pq.write_table(people().drop_columns(["place"]), tmp_path / "people.parquet")
    asked = ["release", tmp_path / "people.parquet", "--out", tmp_path / "out"]
    asked += ["--columns", "work,region", *KINDS[kind], "--ledger", tmp_path / "ledger.sqlite"]
    if kind != "several":
        asked += ["--set", "person=false"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        terminal = ran(*asked)
        asked[asked.index("--out") + 1] = tmp_path / "again"
        answer = json.loads(ran(*asked, "--dry-run", "--json"))
    release = pramble.open_release(tmp_path / "out")
    promise = release.manifest["promise"]
    sign, name = ("ε", "epsilon") if kind != "local" else ("α", "alpha")
    number, belief = alpha_text(promise["spent"][name]), sure(release.guarantee.belief())
    # As documents: the manifest, the command line's JSON, and Python's values.
    assert answer["promise"] == promise["spent"] == release.guarantee.to_json()
    assert release.guarantee.shown == promise["spent"][name]
    certified = json.loads(ran("certify", tmp_path / "out", "--json"))
    own = certified["central"]["epsilon"] if kind != "local" else certified["alpha"]
    assert alpha_text(own) == number
    # In words.
    places = {
        "terminal": terminal,
        "summary": words_of((tmp_path / "out/summary.html").read_text()),
        "report": words_of((tmp_path / "out-report.html").read_text()),
        "codebook": words_of((tmp_path / "out/codebook.xml").read_text()),
        "manifest": promise["sentence"],
        "certify": ran("certify", tmp_path / "out"),
        "repr": repr(release),
        "ledger": ran("ledger", "--ledger", tmp_path / "ledger.sqlite"),
    }
    local = promise.get("local", {})
    for place, text in places.items():
        text = OTHERS.sub("", " ".join(text.split()))
        shown = set(re.findall(rf"{sign} = ([\d.]*\d)", text))
        # The ledger also says what all releases come to at the sum of their δ.
        assert shown == {number} or (place == "ledger" and number in text), (place, shown)
        if local:
            assert set(re.findall(r"α = ([\d.]*\d)", text)) <= {alpha_text(local["alpha"])}, place
        beliefs = set(re.findall(r"([\d.]*\d) ?% sure", text)) - {"50"}
        own = {belief.removesuffix(" %")}
        if local and place in {"summary", "report", "certify"}:
            held = pramble.privacy.promise.LocalPromise.from_json(local).belief()
            own.add(sure(held).removesuffix(" %"))
        assert beliefs <= own, (place, beliefs)
        assert beliefs or place not in {"summary", "report", "codebook", "manifest", "repr"}, place
        # One style of percentages: with a space, as in all the prose.
        assert not re.search(r"\d%", text), (place, re.findall(r".{20}\d%", text))


def test_bounds_are_rounded_up_and_only_once():
    assert [alpha_text(one) for one in (1.0000000000000002, 0.979184, 27.6741, 3, 1.23456)] == [
        *("1", "0.9792", "27.68", "3", "1.235"),
    ]
    for one in (0.1234567, 1.99995, 12.34501, 1e-7, 99.99999):
        assert float(alpha_text(one)) >= one * (1 - 1e-8)
    assert percent(0.8437) == "84.4 %"
