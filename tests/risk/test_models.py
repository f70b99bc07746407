"""One table of models: what every reader of it says."""

import pytest

import pramble
from pramble.cli.assess import ModelName
from pramble.errors import InvalidInput
from pramble.risk.assess import MODELS, as_model, list_models
from pramble.risk.loglinear import Margins

PEOPLE = {"age": [20, 20, 40, 60, 60, 30], "sex": ["f", "f", "m", "f", "m", "m"]}
QUICK = pramble.Membership(
    profiles=2, chains=2, burn_in=5, draws=10, thin=1, memberships=20, rounds=1
)


def test_every_model_is_listed_everywhere():
    assert tuple(MODELS) == ("independence", "two-way", "search", "membership", "none")
    (help_text,) = (option.help for option in ModelName.__metadata__)
    with pytest.raises(InvalidInput) as refused:
        pramble.assess(PEOPLE, ["age"], population_size=60, model="three-way")
    for name, kind in MODELS.items():
        assert f"{name}: {kind.summary}" in pramble.assess.__doc__
        assert f"{name}: {kind.summary}" in help_text
        assert name in str(refused.value)
        assert kind.name == name
    assert Margins.summary in pramble.assess.__doc__
    assert "MODELS" not in pramble.assess.__doc__
    assert "MARGINS" not in pramble.assess.__doc__
    assert list_models().count("; ") == len(MODELS) - 1


@pytest.mark.parametrize("name", MODELS)
def test_every_model_fits_and_tells_how_far_it_has_come(name):
    heard = []
    model = QUICK if name == "membership" else name
    a = pramble.assess(
        PEOPLE, ["age", "sex"], population_size=60, model=model, progress=heard.append
    )
    assert a.model == name == as_model(model).name
    assert a.reason
    assert all(isinstance(told, pramble.Progress) for told in heard)
    shares = [told.share for told in heard]
    assert heard[0].what == "reading"
    assert heard[0].rows == 6
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_model_s_settings_are_part_of_its_name():
    by_name = as_model("membership")
    assert by_name == pramble.Membership()
    assert as_model(QUICK) is QUICK
    assert as_model([("age", "sex")]) == Margins((("age", "sex"),))
