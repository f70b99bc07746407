"""One table of models: what every reader of it says."""

import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app

PEOPLE = {"age": [20, 20, 40, 60, 60, 30], "sex": ["f", "f", "m", "f", "m", "m"]}
QUICK = pramble.Membership(
    profiles=2, chains=2, burn_in=5, draws=10, thin=1, memberships=20, rounds=1
)
MODELS = ("independence", "two-way", "membership", "none")


def test_every_model_is_listed_everywhere():
    shown = CliRunner().invoke(app, ["assess", "--help"]).output
    with pytest.raises(pramble.InvalidInput, match=f"one of {', '.join(MODELS)}; found"):
        pramble.assess(PEOPLE, ["age"], population_size=60, model="three-way")
    for name in MODELS:
        assert f"{name}: " in pramble.assess.__doc__
        assert f"{name}:" in shown
    assert "MODELS" not in pramble.assess.__doc__


@pytest.mark.parametrize("name", MODELS)
def test_every_model_fits_and_says_how_far_it_has_come(name):
    heard = []
    model = QUICK if name == "membership" else name
    a = pramble.assess(
        PEOPLE, ["age", "sex"], population_size=60, model=model, progress=heard.append
    )
    assert a.model == name
    assert a.reason
    assert all(isinstance(one, pramble.Progress) for one in heard)
    shares = [one.share for one in heard]
    assert heard[0].what == "reading"
    assert heard[0].rows == 6
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
