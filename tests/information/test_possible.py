"""Rules of what is possible, against the definition cell by cell."""

from itertools import product

import numpy as np
import pytest

import pramble
from pramble.information.structural_zeros import as_possible

COLUMNS = {"age": [0, 15, 65], "job": ["none", "some"], "married": ["no", "yes"]}
CHILD = {"if": {"age": {"below": 15}}, "then": {"job": "none", "married": ["no"]}}
RETIRED = {"never": {"age": 65, "job": "some"}}


def by_definition(age, job, married):
    child = age >= 15 or (job == "none" and married == "no")
    return child and not (age == 65 and job == "some")


def test_rules_mean_what_they_say():
    possible = as_possible([CHILD, RETIRED], COLUMNS)
    mask = possible.mask(["age", "job", "married"])
    for cell in product(*(range(len(labels)) for labels in COLUMNS.values())):
        values = [labels[code] for labels, code in zip(COLUMNS.values(), cell, strict=True)]
        assert mask[cell] == by_definition(*values)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (RETIRED, RETIRED["never"]),
        ({"never": {"age": {"from": 60}, "job": "some"}}, {"age": lambda a: a > 60, "job": "some"}),
        (CHILD, [{"age": 0, "job": "some"}, {"age": 0, "married": "yes"}]),
    ],
)
def test_every_spelling_is_taken_by_designs_and_by_assessments(one, other):
    masks = [
        as_possible(rules if isinstance(rules, list) else [rules], COLUMNS).mask(list(COLUMNS))
        for rules in (one, other)
    ]
    np.testing.assert_array_equal(*masks)
    cells = np.argwhere(masks[0])
    people = {
        name: [labels[code] for code in codes]
        for (name, labels), codes in zip(COLUMNS.items(), cells.T, strict=True)
    }
    found = [
        pramble.assess(
            people, list(COLUMNS), population_size=100, model="independence",
            impossible=rules if isinstance(rules, list) else [rules],
        )
        for rules in (one, other)
    ]  # fmt: skip
    assert found[0].tau2 == pytest.approx(found[1].tau2, rel=1e-12)
    everywhere = np.argwhere(np.ones_like(masks[0])).astype(np.int32)
    for a in found:
        np.testing.assert_array_equal(a.fit.means(everywhere) > 0, masks[0].ravel())


def test_a_mask_of_fewer_columns_allows_what_some_record_has():
    possible = as_possible([CHILD, RETIRED], COLUMNS)
    whole = possible.mask(["age", "job", "married"])
    assert (possible.mask(["married", "age"]) >= whole.any(axis=1).T).all()
    assert possible.mask(["job", "married"]).all()
    np.testing.assert_array_equal(
        as_possible(whole, COLUMNS).mask(["married", "age"]), whole.any(axis=1).T
    )


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ([{"if": {"age": 0}}], '"if" and "then", or "never"'),
        ([{"never": {}}], "maps columns to labels"),
        ([{"never": {"sex": "f"}}], "'sex', which is not among the columns"),
        ([{"never": {"job": "other"}}], "no category of column 'job'"),
        ([{"never": {"job": {"below": 3}}}], "categories that are numbers"),
        ([{"never": {"age": {"above": 3}}}], '"from" and "below"'),
        ([{"never": {"age": [0, 15, 65]}}], "never is"),
        (np.ones((3, 2)), "boolean array of the shape"),
    ],
)
def test_bad_rules_are_refused_in_a_sentence(rules, says):
    with pytest.raises(pramble.InvalidInput, match=says):
        as_possible(rules, COLUMNS)


def test_designs_release_possible_cells_only():
    rules = [CHILD, RETIRED]
    mask = as_possible(rules, COLUMNS).mask(list(COLUMNS))
    from_rules = pramble.design_record(COLUMNS, 1.0, possible=rules, tables="all")
    from_array = pramble.design_record(COLUMNS, 1.0, possible=mask, tables="all")
    assert from_rules.value == pytest.approx(from_array.value, rel=0.02)
    for branch in from_rules.plan.branches:
        for columns, mechanism in branch.blocks.items():
            allowed = as_possible(rules, COLUMNS).mask(columns)
            cells = [one if len(columns) > 1 else (one,) for one in mechanism.outputs]
            for cell in cells:
                place = tuple(
                    COLUMNS[name].index(label) for name, label in zip(columns, cell, strict=True)
                )
                assert allowed[place]


def test_a_prior_on_impossible_cells_is_refused():
    prior = np.full((3, 2, 2), 1 / 12)
    with pytest.raises(pramble.InvalidPrior, match="impossible cells of age, job"):
        pramble.design_record(COLUMNS, 1.0, prior=prior, possible=[RETIRED])
