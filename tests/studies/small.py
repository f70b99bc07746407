"""Every study at a size for tests, its results as plain documents, and the golden ones.

``python -m tests.studies.small`` writes the golden results anew; read what changed before
committing it.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from pramble_study import errata, estimates, gallery, new_york, sex, tables
from pramble_study.runner import NAMES, STUDIES, Finished
from pramble_study.study import generator, in_turn

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
SEED = 20200406

CONFIGS = {
    "gallery": gallery.Config(for_three=(Fraction(3),), for_four=(Fraction(5, 2),)),
    "errata": errata.Config(sizes=(3, 4)),
    "tables": tables.Config(scenarios=("I", "III"), alphas=(0.5, 2.0), redraws=3),
    "estimates": estimates.Config(
        scenarios=("I",), alphas=(1.0,), sample_size=500, repetitions=3, tolerance=1e-3
    ),
    "sex": sex.Config(repetitions=3, curve=5, share=0.01),
    "new-york": new_york.Config(variables=("OWNERSHP", "SEX"), alphas=(1.0,), tolerance=1e-3),
}


@cache
def finished(name, each=in_turn):
    """Run one study at its small size."""
    study = STUDIES[NAMES.index(name)]
    data = study.run(CONFIGS[name], generator(SEED, name), each=each)
    return Finished(study, CONFIGS[name], data, study.tables(data), study.pictures(data))


def plain(value):
    """A result as JSON knows it."""
    if is_dataclass(value):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Fraction):
        return str(value)
    return "inf" if value == float("inf") else value


def golden_path(name):
    return GOLDEN / f"study-{name}.json"


def main():
    for name in NAMES:
        document = json.dumps(plain(finished(name).data), indent=1, ensure_ascii=False)
        golden_path(name).write_text(document + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
