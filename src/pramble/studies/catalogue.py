"""Every study, in the order of the page."""

from typing import Any

from pramble.errors import InvalidInput
from pramble.plots.study import estimates as estimates_plots
from pramble.plots.study import gallery as gallery_plots
from pramble.plots.study import new_york as new_york_plots
from pramble.plots.study import ratios as ratios_plots
from pramble.plots.study import sex as sex_plots
from pramble.plots.study import tables as tables_plots
from pramble.studies import errata, estimates, gallery, new_york, ratios, sex, tables
from pramble.studies.study import Study


def study(title: str, module: Any, plots: Any = None, *, heavy: bool = True, **quick: Any) -> Study:
    """Return the study of a module, named as it is; ``quick`` says what a quick run changes."""
    return Study(
        module.__name__.rpartition(".")[2].replace("_", "-"),
        title,
        full=module.Config(),
        quick=module.Config(**quick),
        run=module.run,
        tables=module.tables,
        pictures=plots.pictures if plots else lambda _: (),
        heavy=heavy,
    )


STUDIES = (
    study("the feasible set and its vertices", gallery, gallery_plots, heavy=False),
    study("errors of the paper, with exact counterexamples", errata, heavy=False),
    study(
        "tables 1 to 4: printed and true optima", tables, tables_plots, redraws=20, tolerance=1e-6
    ),
    study(
        "figures 1 to 4: estimates from repeated releases",
        estimates,
        estimates_plots,
        alphas=(0.5, 2.0),
        repetitions=10,
        tolerance=1e-2,
    ),
    study(
        "simple mechanisms against the optimum",
        ratios,
        ratios_plots,
        priors=6,
        alphas=ratios.Config().alphas[::3],
    ),
    study("figures 5 and 6: sex in New York", sex, sex_plots, repetitions=20),
    study("ten New York variables", new_york, new_york_plots, alphas=(1.0, 4.0), tolerance=1e-3),
)
"""The studies."""

NAMES = tuple(one.name for one in STUDIES)


def chosen(names: tuple[str, ...]) -> tuple[Study, ...]:
    """Return the studies with these names, in the order of the page; all of them for no name."""
    for name in names:
        if name not in NAMES:
            raise InvalidInput(f"A study is one of {', '.join(NAMES)}; found {name!r}.")
    return tuple(one for one in STUDIES if not names or one.name in names)
