"""Records by distance: one matrix for two columns against one for each, at the same α per step.

The made-up New Yorkers, by seven bands of age and four of schooling or two sexes. Costs are n times
the summed variance of the two-way table.
"""

import time

import numpy as np

import pramble

AGES = {
    "<15": 0, "15": 1, "16": 1, "17": 1, "18-24": 2, "25-35": 3, "36-50": 4, "51-70": 5, ">70": 6,
}  # fmt: skip
SCHOOLING = {
    "None": 0, "Nursery to grade 4": 0, "Grade 5 to 8": 0, "Grade 9": 1, "Grade 10": 1,
    "Grade 11": 1, "Grade 12": 1, "1 year of college": 2, "2 years of college": 2,
    "4 years of college": 3, "5+ years of college": 3,
}  # fmt: skip
PEOPLE = 200_000


def law_of(second: str, places: dict[str, int]) -> np.ndarray:
    """Return the shares of a table of age bands by another column."""
    people = pramble.datasets.synthetic_new_york(PEOPLE)
    ages = np.array([AGES[label] for label in people["AGE"].to_pylist()])
    others = np.array([places[label] for label in people[second].to_pylist()])
    table = np.ones((max(AGES.values()) + 1, max(places.values()) + 1))
    np.add.at(table, (ages, others), 1)
    return table / table.sum()


def alone(law: np.ndarray, alpha: float, distances: list[object]) -> float:
    """Return the cost under the best matrices of single columns."""
    matrices = [
        pramble.design(
            law.sum(axis=1 - axis), alpha, family="general", objective="estimation", distance=d
        ).mechanism.matrix
        for axis, d in enumerate(distances)
    ]
    product = pramble.Mechanism.from_matrix(np.kron(*matrices))
    return pramble.estimation_variance(law.ravel(), product)


def main() -> None:
    """Print a line for each pair of columns and α."""
    people = pramble.datasets.synthetic_new_york(2000)
    sexes = {label: i for i, label in enumerate(sorted(set(people["SEX"].to_pylist())))}
    pairs = {
        "AGE (7) × SEX (2)": (law_of("SEX", sexes), "SEX", [[0, 1], [1, 0]]),
        "AGE (7) × EDUC (4)": (law_of("EDUC", SCHOOLING), "EDUC", "path"),
    }
    print(f"{'':20s} {'α a step':>8s} {'alone':>8s} {'together':>9s} {'bound':>8s} {'s':>5s}")
    for name, (law, column, distance) in pairs.items():
        for alpha in (0.25, 0.5, 1.0):
            start = time.perf_counter()
            sizes = {"AGE": law.shape[0], column: law.shape[1]}
            distances = {"AGE": "path", column: distance}
            d = pramble.design_record(sizes, alpha, prior=law, distance=distances)
            seconds = time.perf_counter() - start
            apart = alone(law, alpha, ["path", distance])
            print(
                f"{name:20s} {alpha:8g} {apart:8.4g} {d.value:9.4g} {d.bound:8.4g} {seconds:5.0f}"
            )


if __name__ == "__main__":
    main()
