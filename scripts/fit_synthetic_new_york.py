"""Fit the latent class model behind ``pramble.datasets.synthetic_new_york``.

    python scripts/fit_synthetic_new_york.py ACS.parquet [--starts 4]

The file is the American Community Survey 2024, one-year public use microdata of New York (public
domain), with the ten variables built from it and the person weight ``PWGTP``.

People fall into domains by age in which every combination of the remaining values is possible
(``DOMAINS`` below); each domain gets a latent class model of its own, so an impossible
combination has probability zero by construction. In a domain with records x_i and weights w_i, EM
maximises  sum_i w_i log sum_k pi_k prod_j theta_jk(x_ij)  with a light Dirichlet prior, from
several starts. The number of classes is the smallest whose held-out weighted log-likelihood is
within one standard error of the best of the grid. The probabilities are rounded to integers over a
power of two and written to ``src/pramble/resources/synthetic_new_york.json``.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pramble.datasets import CLASS_TOTAL, LEVEL_TOTAL, NOT_APPLICABLE, VARIABLES

TARGET = Path(__file__).resolve().parent.parent / "src/pramble/resources/synthetic_new_york.json"
GRID = {"adult": (20, 40, 60, 80, 110), "young": (1, 2, 3, 4, 6, 8)}
TOLERANCE = 1e-7
CODES = {
    "OWNERSHP": ["0", "1", "2"],
    "MORTGAGE": ["0", "1", "3"],
    "AGE": ["<15", "15", "16", "17", "[18,24]", "[25,35]", "[36,50]", "[51,70]", ">70"],
    "SEX": ["1", "2"],
    "MARST": ["1", "3", "4", "5", "6"],
    "RACESING": ["1", "2", "3", "4", "5"],
    "EDUC": ["0", "1", "2", "3", "4", "5", "6", "7", "8", "10", "11"],
    "EMPSTAT": ["0", "1", "2", "3"],
    "DISABWRK": ["0", "1", "4"],
    "VETSTAT": ["0", "1", "2"],
}
TENURE = {(0, 0): 0, (1, 1): 1, (1, 2): 2, (2, 0): 3}  # (OWNERSHP, MORTGAGE) as one variable

AGES, EDUCATION = VARIABLES["AGE"], VARIABLES["EDUC"]


@dataclass(frozen=True)
class Domain:
    """People of some ages, among whom every combination of the values in ``only`` is possible.

    A variable that ``only`` does not name takes any value except "Not applicable".
    """

    name: str
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def levels(self, variable: str) -> tuple[int, ...]:
        """Positions in ``VARIABLES[variable]`` that are possible here."""
        labels = VARIABLES[variable]
        possible = self.only.get(variable, [v for v in labels if v != NOT_APPLICABLE])
        return tuple(labels.index(value) for value in possible)


_NO = (NOT_APPLICABLE,)
_NEVER_DISSOLVED = ("Married", "Separated", "Never married")
DOMAINS = (
    Domain(
        "under 15",
        {
            "AGE": ("<15",),
            "MARST": ("Never married",),
            "EDUC": EDUCATION[:6],
            "EMPSTAT": _NO,
            "DISABWRK": _NO,
            "VETSTAT": _NO,
        },
    ),
    Domain(
        "15",
        {
            "AGE": ("15",),
            "MARST": _NEVER_DISSOLVED,
            "EDUC": EDUCATION[:7],
            "EMPSTAT": _NO,
            "DISABWRK": _NO,
            "VETSTAT": _NO,
        },
    ),
    Domain(
        "16",
        {"AGE": ("16",), "MARST": _NEVER_DISSOLVED, "EDUC": EDUCATION[:9], "VETSTAT": _NO},
    ),
    Domain(
        "17",
        {
            "AGE": ("17",),
            "MARST": _NEVER_DISSOLVED,
            "EDUC": EDUCATION[:9],
            "VETSTAT": ("Not a veteran",),
        },
    ),
    Domain("adult", {"AGE": AGES[4:]}),
)


def read(path):
    """Codes (n, 9) in the order of VARIABLES, and weights with mean one."""
    table = pq.read_table(path)
    codes = {}
    for name, order in CODES.items():
        place = {label: code for code, label in enumerate(order)}
        column = table[name].combine_chunks()
        codes[name] = np.array([place[v] for v in column.dictionary.to_pylist()])[
            column.indices.to_numpy()
        ]
    pairs = np.full((3, 3), -1)
    for (owner, mortgage), tenure in TENURE.items():
        pairs[owner, mortgage] = tenure
    codes["TENURE"] = pairs[codes["OWNERSHP"], codes["MORTGAGE"]]
    assert codes["TENURE"].min() >= 0
    weights = table["PWGTP"].to_numpy().astype(float)
    return np.stack([codes[name] for name in VARIABLES], axis=1), weights / weights.mean()


def one_hot(codes, allowed):
    """Build the indicators of the levels possible in a domain, and the block of each variable."""
    blocks, columns, start = [], [], 0
    for j, levels in enumerate(allowed):
        columns.append(codes[:, [j]] == np.array(levels))
        blocks.append(slice(start, start + len(levels)))
        start += len(levels)
    return np.concatenate(columns, axis=1).astype(float), blocks


def log_joint(X, share, theta):
    """Compute log pi_k + log P(x_i | k) for every record and class."""
    return X @ np.log(theta).T + np.log(share)


def log_likelihood(X, share, theta):
    """Compute log P(x_i) for every record."""
    joint = log_joint(X, share, theta)
    top = joint.max(axis=1)
    return top + np.log(np.exp(joint - top[:, None]).sum(axis=1))


def em(X, weights, *, blocks, classes, rng, rounds):
    """One run of EM from a random start; the shares, the level probabilities and the fit."""
    overall = weights @ X / weights.sum()
    theta = np.empty((classes, X.shape[1]))
    for block in blocks:
        base = overall[block] + 1e-3
        theta[:, block] = rng.dirichlet(5 * base / base.sum() + 0.2, size=classes)
    theta = np.maximum(theta, 1e-6)
    share = np.full(classes, 1 / classes)
    last = -np.inf
    for _ in range(rounds):
        joint = log_joint(X, share, theta)
        top = joint.max(axis=1, keepdims=True)
        np.exp(joint - top, out=joint)
        total = joint.sum(axis=1, keepdims=True)
        fit = float(weights @ (np.log(total) + top)[:, 0]) / weights.sum()
        joint *= weights[:, None] / total
        counts = joint.T @ X
        share = joint.sum(axis=0) + 1.0
        share /= share.sum()
        for block in blocks:
            part = counts[:, block] + 0.5 * overall[block] + 1e-6
            theta[:, block] = part / part.sum(axis=1, keepdims=True)
        if fit - last < TOLERANCE:
            break
        last = fit
    return share, theta, fit


def compress(codes, weights):
    """Add up the weights of equal records."""
    cells, place = np.unique(codes, axis=0, return_inverse=True)
    return cells, np.bincount(place.ravel(), weights=weights)


def best_fit(codes, weights, *, allowed, classes, starts, rounds, rng):
    """Run EM from several starts and keep the best."""
    cells, mass = compress(codes, weights)
    X, blocks = one_hot(cells, allowed)
    state = rng.spawn(starts)
    runs = [em(X, mass, blocks=blocks, classes=classes, rng=each, rounds=rounds) for each in state]
    return max(runs, key=lambda run: run[2])[:2], blocks


def choose_classes(codes, weights, *, allowed, grid, rng):
    """Smallest number of classes within one standard error of the best held-out fit."""
    held = rng.random(len(codes)) < 0.25
    cells, place = np.unique(codes[held], axis=0, return_inverse=True)
    X, _ = one_hot(cells, allowed)
    w = weights[held]
    scores = {}
    for classes in grid:
        (share, theta), _ = best_fit(
            codes[~held],
            weights[~held],
            allowed=allowed,
            classes=classes,
            starts=2,
            rounds=150,
            rng=rng,
        )
        scores[classes] = log_likelihood(X, share, theta)[place.ravel()]
        print(
            f"    {classes:4d} classes: held-out {np.average(scores[classes], weights=w):.5f}",
            flush=True,
        )
    means = {k: np.average(s, weights=w) for k, s in scores.items()}
    best = max(means, key=means.get)
    for classes in grid:
        loss = (scores[best] - scores[classes]) * w / w.mean()
        if loss.mean() <= loss.std() / np.sqrt(len(loss)):
            return classes
    return best


def to_integers(probabilities, total):
    """Largest remainders: non-negative integers with the given sum, in proportion."""
    exact = np.asarray(probabilities) / np.sum(probabilities) * total
    weights = np.floor(exact).astype(int)
    short = total - weights.sum()
    weights[np.argsort(weights - exact)[:short]] += 1
    return weights


def main():
    """Fit every domain and write the parameters."""
    parser = argparse.ArgumentParser(description="fit the model behind synthetic_new_york")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--classes", type=int, help="classes of the adult domain, not chosen")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    codes, weights = read(arguments.file)
    age = codes[:, list(VARIABLES).index("AGE")]
    shares, rows, left_out = [], [], 0.0
    for domain in DOMAINS:
        allowed = [domain.levels(name) for name in VARIABLES]
        inside = np.isin(age, domain.levels("AGE"))
        possible = inside.copy()
        for j, levels in enumerate(allowed):
            possible &= np.isin(codes[:, j], levels)
        left_out += weights[inside & ~possible].sum()
        x, w = codes[possible], weights[possible]
        adult = len(domain.levels("AGE")) > 1
        print(f"domain {domain.name}: {len(x)} records", flush=True)
        classes = (
            arguments.classes
            if adult and arguments.classes
            else choose_classes(
                x, w, allowed=allowed, grid=GRID["adult" if adult else "young"], rng=rng
            )
        )
        (share, theta), blocks = best_fit(
            x, w, allowed=allowed, classes=classes, starts=arguments.starts, rounds=600, rng=rng
        )
        print(f"    kept {classes} classes", flush=True)
        for k in range(classes):
            row = []
            for name, levels, block in zip(VARIABLES, allowed, blocks, strict=True):
                full = np.zeros(len(VARIABLES[name]), dtype=int)
                full[list(levels)] = to_integers(theta[k, block], LEVEL_TOTAL)
                row.append(full.tolist())
            rows.append(row)
        shares.extend(share * weights[inside].sum())
    print(f"left out as impossible: {left_out / weights.sum():.2e} of the weight")
    order = np.argsort(shares)[::-1]
    model = {
        "source": "American Community Survey 2024, 1-year public use microdata, New York",
        "variables": list(VARIABLES),
        "classes": to_integers(np.array(shares)[order], CLASS_TOTAL).tolist(),
        "levels": [rows[k] for k in order],
    }
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(model, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{len(rows)} classes, {TARGET.stat().st_size} bytes in {TARGET.name}")


if __name__ == "__main__":
    main()
