"""Every study, in the order of the page."""

from __future__ import annotations

from pramble.errors import InvalidInput
from pramble.plots.study import estimates as estimates_pictures
from pramble.plots.study import gallery as gallery_pictures
from pramble.plots.study import new_york as new_york_pictures
from pramble.plots.study import ratios as ratios_pictures
from pramble.plots.study import sex as sex_pictures
from pramble.plots.study import tables as tables_pictures
from pramble.studies import errata, estimates, gallery, new_york, ratios, sex, tables
from pramble.studies.study import Study

STUDIES = (
    Study(
        "gallery",
        "the feasible set and its vertices",
        full=gallery.Config(),
        quick=gallery.Config(),
        run=gallery.run,
        tables=gallery.tables,
        pictures=gallery_pictures.pictures,
        heavy=False,
    ),
    Study(
        "errata",
        "errors of the paper, with exact counterexamples",
        full=errata.Config(),
        quick=errata.Config(),
        run=errata.run,
        tables=errata.tables,
        pictures=errata.pictures,
        heavy=False,
    ),
    Study(
        "tables",
        "tables 1 to 4: printed and true optima",
        full=tables.Config(),
        quick=tables.Config(redraws=20, tolerance=1e-6),
        run=tables.run,
        tables=tables.tables,
        pictures=tables_pictures.pictures,
    ),
    Study(
        "estimates",
        "figures 1 to 4: estimates from repeated releases",
        full=estimates.Config(),
        quick=estimates.Config(alphas=(0.5, 2.0), repetitions=10, tolerance=1e-2),
        run=estimates.run,
        tables=estimates.tables,
        pictures=estimates_pictures.pictures,
    ),
    Study(
        "ratios",
        "simple mechanisms against the optimum",
        full=ratios.Config(),
        quick=ratios.Config(priors=6, alphas=ratios.Config().alphas[::3]),
        run=ratios.run,
        tables=ratios.tables,
        pictures=ratios_pictures.pictures,
    ),
    Study(
        "sex",
        "figures 5 and 6: sex in New York",
        full=sex.Config(),
        quick=sex.Config(repetitions=20),
        run=sex.run,
        tables=sex.tables,
        pictures=sex_pictures.pictures,
    ),
    Study(
        "new-york",
        "ten New York variables",
        full=new_york.Config(),
        quick=new_york.Config(alphas=(1.0, 4.0), tolerance=1e-3),
        run=new_york.run,
        tables=new_york.tables,
        pictures=new_york_pictures.pictures,
    ),
)
"""The studies."""

NAMES = tuple(study.name for study in STUDIES)


def chosen(names: tuple[str, ...]) -> tuple[Study, ...]:
    """Return the studies with these names, in the order of the page; all of them for no name."""
    for name in names:
        if name not in NAMES:
            raise InvalidInput(f"A study is one of {', '.join(NAMES)}; found {name!r}.")
    return tuple(study for study in STUDIES if not names or study.name in names)
