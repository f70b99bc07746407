"""The ledger adds up both ways, refuses to pass a budget, and survives many writers and kills."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.test_central_budgets import old_ledger
from typer.testing import CliRunner

from pramble.cli.app import app
from pramble.data.open import open_records
from pramble.errors import InvalidData, InvalidInput, PrambleError, PrivacyError
from pramble.ledger.account import open_account
from pramble.ledger.book import Ledger, default_ledger
from pramble.ledger.entries import NOTHING, Budgets, KnownFile, smaller
from pramble.privacy.promise import CentralPromise, LocalPromise, composed


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "deep" / "ledger.sqlite")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex\nm\nf\n")
    return path


FILE = KnownFile("people.csv", "f", 100, ("sex", "age"))


def enter(ledger, who, alpha, **options):
    promise = LocalPromise(Fraction(alpha))
    settings = {"file": FILE, "columns": ["a"], "target": "out", **with_budgets(options)}
    return ledger.enter(who, promise, **settings)


def with_budgets(options):
    budgets = Budgets(options.pop("budget", None), options.pop("central_budget", None))
    return {**options, "budgets": budgets}


def digest(path):
    return open_records(path).digest()


def test_totals_add_up_exactly(ledger, people):
    who = ledger.fingerprint(digest(people))
    for _ in range(10):
        ledger.confirm(enter(ledger, who, 0.1).id)
    assert ledger.total(who).alpha == 10 * Fraction(0.1)
    assert ledger.total("somebody else").alpha == 0
    assert [entry.state for entry in ledger.entries()] == ["done"] * 10
    assert Ledger(ledger.path).total(who).alpha == 10 * Fraction(0.1)


def test_fingerprints_follow_the_content_and_the_ledger(ledger, people, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(people.read_bytes())
    assert ledger.fingerprint(digest(copy)) == ledger.fingerprint(digest(people))
    copy.write_text("sex\nm\nm\n")
    assert ledger.fingerprint(digest(copy)) != ledger.fingerprint(digest(people))
    other = Ledger(tmp_path / "other.sqlite")
    assert other.fingerprint(digest(people)) != ledger.fingerprint(digest(people))


def test_a_folder_has_a_fingerprint(ledger, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.csv").write_text("a\n1\n")
    first = ledger.fingerprint(digest(folder))
    (folder / "2.csv").write_text("a\n2\n")
    assert ledger.fingerprint(digest(folder)) != first


def test_a_budget_is_never_passed_and_may_be_met(ledger):
    enter(ledger, "x", Fraction(2), budget=LocalPromise(Fraction(3)))
    with pytest.raises(PrivacyError, match=r"at most 1 is left\. Nothing was released"):
        enter(ledger, "x", Fraction(3, 2), budget=LocalPromise(Fraction(3)))
    enter(ledger, "x", Fraction(1), budget=LocalPromise(Fraction(3)))
    assert ledger.total("x").alpha == 3


@settings(max_examples=30)
@given(st.lists(st.floats(0.01, 2), max_size=8), st.floats(0.1, 5))
def test_whatever_is_asked_the_budget_holds(tmp_path_factory, amounts, budget):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "l.sqlite")
    for amount in amounts:
        try:
            enter(ledger, "x", amount, budget=LocalPromise(Fraction(budget)))
        except PrivacyError:
            continue
    assert ledger.total("x").alpha <= Fraction(budget)


def test_only_what_was_never_about_to_be_published_can_be_cancelled(ledger):
    done, moving, pending = (enter(ledger, "x", Fraction(1)) for _ in range(3))
    ledger.confirm(done.id)
    ledger.publish(moving.id)
    ledger.cancel(pending.id)
    assert ledger.total("x").alpha == 2
    for number, why in ((done.id, "was published"), (moving.id, "may have been published")):
        with pytest.raises(InvalidInput, match=f"{why}.*counts"):
            ledger.cancel(number)
    for number in (pending.id, 99):
        with pytest.raises(InvalidInput, match="no release"):
            ledger.cancel(number)


def test_a_release_cancelled_while_it_ran_is_not_published(ledger):
    entry = enter(ledger, "x", Fraction(1, 3))
    ledger.cancel(entry.id)
    later = enter(ledger, "x", Fraction(1))
    for mark in (ledger.publish, ledger.confirm):
        with pytest.raises(PrambleError, match=r"was cancelled|no release"):
            mark(entry.id)
    assert ledger.total("x").alpha == 1
    assert later.id != entry.id


def test_only_the_owner_reads_it(ledger):
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"this is not a database at all" * 50)
    with pytest.raises(InvalidData, match="cannot be used"):
        Ledger(path)
    with pytest.raises(InvalidInput, match="cannot be opened"):
        Ledger(path / "below")


def test_the_default_place_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_ledger() == tmp_path / "pramble" / "ledger.sqlite"


WRITER = """
import sys
from fractions import Fraction
from pramble.errors import PrivacyError
from pramble.privacy.promise import LocalPromise
from pramble.ledger.book import Ledger
from pramble.ledger.entries import Budgets, KnownFile
ledger = Ledger(sys.argv[1])
file = KnownFile("f", "f", 1, ("a",))
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    try:
        limit = LocalPromise(Fraction(5))
        spent = LocalPromise(Fraction(1, 8))
        budgets = Budgets(limit)
        entry = ledger.enter("x", spent, file=file, columns=["a"], target="", budgets=budgets)
        ledger.confirm(entry.id)
    except PrivacyError:
        pass
"""


def start(path, rounds):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(rounds)], stdout=subprocess.PIPE
    )


def test_many_writers_at_once_meet_the_budget_exactly(tmp_path):
    path = tmp_path / "ledger.sqlite"
    writers = [start(path, 12) for _ in range(5)]
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    assert Ledger(path).total("x").alpha == 5  # 60 tries of 1/8 against a budget of 40 eighths
    assert len(Ledger(path).entries()) == 40


def test_killed_writers_leave_a_sound_ledger(tmp_path):
    path = tmp_path / "ledger.sqlite"
    for pause in (0.0, 0.01, 0.03):
        writer = start(path, 10_000)
        writer.stdout.readline()
        time.sleep(pause)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate(timeout=60)
        ledger = Ledger(path)
        assert ledger.total("x").alpha == Fraction(len(ledger.entries()), 8)
    assert ledger.total("x").alpha <= 5


def test_a_budget_stays_with_the_people(ledger):
    enter(ledger, "x", 2, budget=LocalPromise(Fraction(3)))
    with pytest.raises(PrivacyError, match="at most 1 is left"):
        enter(ledger, "x", 2)
    enter(ledger, "y", 2)
    with pytest.raises(PrivacyError, match="at most 1 is left"):
        enter(ledger, "x", 2, budget=LocalPromise(Fraction(9)))  # a larger one does not replace it
    assert ledger.budgets("x").local.alpha == 3
    assert ledger.budgets("y").local is None
    ledger.set_budget("x", LocalPromise(Fraction(5)))
    enter(ledger, "x", 2)
    assert ledger.total("x").alpha == 4


def test_entries_come_back_as_they_were_entered(ledger):
    first = ledger.enter(
        "x", LocalPromise(Fraction(1, 3)).of_rows(4), file=FILE, columns=["a", "b"], target="out"
    )
    assert ledger.entries() == [first]
    assert ledger.total("x") == LocalPromise(Fraction(4, 3), 4)
    assert Ledger(ledger.path).is_new is False


@pytest.mark.parametrize(
    ("rows", "columns", "alike"),
    [
        (1000, ("sex", "x", "y", "z"), True),
        (1050, ("sex", "x", "y", "z"), True),
        (2000, ("sex", "x", "y", "z"), False),
        (None, ("sex", "x", "y", "z"), True),
        (1000, ("age", "x", "y", "z"), False),
        (5, ("age", "town"), True),
    ],
)
def test_which_files_look_alike(rows, columns, alike):
    known = KnownFile("a", "a", 1000, ("sex", "age", "town", "job"))
    assert KnownFile("b", "b", rows, columns).may_hold_the_people_of(known, ["sex"]) is alike


MOST = CentralPromise(Fraction(1), Fraction(1, 10**5))


def enter_central(ledger, epsilon, delta=0, *, people="x", alpha=8, **options):
    spent = LocalPromise(Fraction(alpha))
    given = None if epsilon is None else CentralPromise(Fraction(epsilon), Fraction(delta))
    return ledger.enter(
        people, spent, file=FILE, columns=["sex"], target="out", central=given,
        **with_budgets(options),
    )  # fmt: skip


def test_local_and_central_sums_are_kept_apart(ledger):
    enter_central(ledger, Fraction(1, 3), Fraction(1, 10**6), alpha=8)
    enter_central(ledger, None, alpha=2)
    enter_central(ledger, Fraction(1, 7), Fraction(1, 10**7), alpha=5)
    enter_central(ledger, 9, people="others")
    assert ledger.total("x") == LocalPromise(Fraction(15))
    assert ledger.central_total("x").epsilon == Fraction(1, 3) + 2 + Fraction(1, 7)
    assert ledger.central_total("x").delta == Fraction(11, 10**7)
    assert ledger.central_total("nobody") == NOTHING
    assert Ledger(ledger.path).central_total("x") == ledger.central_total("x")


def test_neither_epsilon_nor_delta_of_a_budget_is_passed(ledger):
    enter_central(ledger, Fraction(1, 2), Fraction(1, 10**6), central_budget=MOST)
    for epsilon, delta in ((Fraction(501, 1000), 0), (0, Fraction(91, 10**7))):
        with pytest.raises(PrivacyError, match=r"central budget .*Nothing was released"):
            enter_central(ledger, epsilon, delta)
    enter_central(ledger, Fraction(1, 2), Fraction(9, 10**6))
    assert ledger.central_total("x") == MOST
    with pytest.raises(PrivacyError, match="central budget"):
        enter_central(ledger, None, alpha=1)  # unshuffled: ε = α
    assert len(ledger.entries()) == 2


def test_a_central_budget_is_none_on_alpha_and_the_other_way_round(ledger):
    enter_central(ledger, Fraction(1, 10), alpha=50, central_budget=MOST)
    with pytest.raises(PrivacyError, match="of the budget 60"):
        enter_central(ledger, Fraction(1, 10), alpha=20, budget=LocalPromise(Fraction(60)))
    assert ledger.budgets("x") == Budgets(None, MOST)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e-5)), max_size=8),
    st.tuples(st.floats(0.1, 2), st.floats(1e-6, 1e-4)),
)
def test_whatever_is_asked_both_parts_of_the_budget_hold(tmp_path_factory, amounts, budget):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "l.sqlite")
    most, spent = CentralPromise(*map(Fraction, budget)), NOTHING
    for epsilon, delta in amounts:
        more = CentralPromise(Fraction(epsilon), Fraction(delta))
        try:
            enter_central(ledger, epsilon, delta, central_budget=most)
        except PrivacyError:
            assert not most.allows(spent + more)
            continue
        spent = spent + more
    assert ledger.central_total("x") == spent
    assert most.allows(spent)


pairs = st.builds(
    CentralPromise, st.fractions(0, 2, max_denominator=9), st.fractions(0, 1, max_denominator=9)
)


@given(pairs, pairs, pairs)
def test_the_smaller_of_two_budgets_is_what_both_allow(one, two, spent):
    both = smaller(one, two)
    assert both.allows(spent) == (one.allows(spent) and two.allows(spent))


def test_a_release_does_not_raise_a_central_budget(ledger):
    enter_central(ledger, Fraction(1, 10), central_budget=MOST)
    facts = {"name": "people.csv", "rows": 100, "columns": ("sex", "age")}
    for larger in ((2, 1e-6), (0.5, 1e-4)):
        with pytest.raises(PrivacyError, match=r"does not raise.*--central-budget"):
            open_account(ledger, facts, digest="d", people="x", central_budget=larger)
    open_account(ledger, facts, digest="d", people="x", central_budget=(0.5, 1e-6))
    ledger.set_budget("x", CentralPromise(Fraction(2), Fraction(1, 10**5)))
    open_account(ledger, facts, digest="d", people="x", central_budget=(2, 1e-6))


CENTRAL_WRITER = """
import sys
from fractions import Fraction
from pramble.errors import PrivacyError
from pramble.ledger.book import Ledger
from pramble.ledger.entries import Budgets, KnownFile
from pramble.privacy.promise import CentralPromise
from pramble.privacy.promise import LocalPromise
ledger = Ledger(sys.argv[1])
file = KnownFile("f", "f", 1, ("a",))
most = CentralPromise(Fraction(1), Fraction(1, 1000))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    try:
        ledger.confirm(ledger.enter(
            "x", LocalPromise(Fraction(9)), file=file, columns=["a"], target="",
            central=CentralPromise(Fraction(1) / int(sys.argv[3]), Fraction(1, 10**6)),
            budgets=Budgets(None, most)).id)
        print("got", flush=True)
    except PrivacyError:
        print("refused", flush=True)
"""


def race(path, *, writers, rounds, parts):
    """Processes that wait until all are there, and then enter releases at once."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", CENTRAL_WRITER, str(path), str(rounds), str(parts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(writers)
    ]
    for run in runs:
        run.stdout.readline()
    for run in runs:
        run.stdin.write("go\n")
        run.stdin.flush()
    return [run.communicate(timeout=120)[0].split() for run in runs]


def test_of_two_processes_that_race_for_a_budget_one_gets_it(tmp_path):
    path = tmp_path / "l.sqlite"
    ends = race(path, writers=2, rounds=1, parts=1)
    assert sorted(ends) == [["got"], ["refused"]]
    assert Ledger(path).central_total("x").epsilon == 1


def test_many_writers_meet_a_central_budget_exactly(tmp_path):
    ends = race(tmp_path / "l.sqlite", writers=3, rounds=5, parts=8)
    assert sum(end.count("got") for end in ends) == 8
    assert Ledger(tmp_path / "l.sqlite").central_total("x").epsilon == 1


def test_an_old_ledger_is_written_on_and_opened_again(tmp_path):
    old = old_ledger(tmp_path)
    fingerprint = Ledger(old).fingerprint("digest")
    for ledger in (Ledger(old), Ledger(old)):
        entry = enter_central(
            ledger, Fraction(1, 8), Fraction(1, 10**6), people="staff", alpha=Fraction(1, 2)
        )
        ledger.confirm(entry.id)
    ledger = Ledger(old)
    assert [entry.id for entry in ledger.entries()] == [1, 4, 5, 6, 7]
    assert ledger.central_total("staff").epsilon == Fraction(7, 2) + Fraction(1, 4)
    with pytest.raises(PrivacyError, match="of the budget 5"):
        enter_central(ledger, Fraction(1, 8), people="staff", alpha=1)
    with pytest.raises(InvalidInput, match="may have been published"):
        ledger.cancel(4)
    assert ledger.fingerprint("digest") == fingerprint
    assert ledger.total("staff").alpha == Fraction(9, 2)


def test_two_processes_may_open_an_old_ledger_at_once(tmp_path):
    old = old_ledger(tmp_path)
    code = "import sys; from pramble.ledger.book import Ledger; Ledger(sys.argv[1])"
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(old)], stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    assert [run.communicate(timeout=60)[1] for run in runs] == [b""] * 2
    assert len(Ledger(old).entries()) == 3


def test_the_command_composes_what_central_releases_spent(ledger):
    parts = [enter_central(ledger, Fraction(own, 8), Fraction(1, 10**6)).central for own in (1, 2)]
    answer = CliRunner().invoke(app, ["ledger", "--ledger", str(ledger.path), "--json"])
    last = json.loads(answer.stdout)[-1]
    assert last["together"] == composed(parts, delta=2 * last["total_delta"])
    assert last["together"] <= last["total_epsilon"]
