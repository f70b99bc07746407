"""Tables 1 to 4: the vertices printed as optimal, the true optima, and all that α allows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pramble.plots.images import Picture
from pramble.plots.style import BLACK, SERIES, WIDTH, house_style, new_figure
from pramble.solvers.design import design
from pramble.values import Floats, frozen
from pramble_study.axes import in_percent, shared_legend
from pramble_study.family import best_placement, in_words
from pramble_study.paper import ALPHAS, SCENARIOS, Counts, draw_third, printed_counts, priors
from pramble_study.study import Spread, Table, fields, headings, in_turn

CHUNK = 25
# Losses below this are rounding.
SAME = 1e-10


@dataclass(frozen=True)
class Config:
    scenarios: tuple[str, ...] = SCENARIOS
    alphas: tuple[float, ...] = ALPHAS
    redraws: int = 500
    tolerance: float = 1e-7


@frozen
class Row:
    scenario: str
    alpha: float
    counts: Counts
    printed: float
    optimum: str
    family: float
    family_bound: float
    general: float
    general_bound: float
    ceiling: float

    @property
    def loss(self) -> float:
        """The share of the family's best information that the printed vertex gives away."""
        return max(0.0, 1 - self.printed / self.family)

    @property
    def is_optimal(self) -> bool:
        return self.loss < SAME


@frozen
class Redraws:
    """Scenario III over many priors drawn as described: what the printed vertex loses."""

    alpha: float
    losses: Floats

    @property
    def optimal(self) -> int:
        return int((self.losses < SAME).sum())


@frozen
class Tables:
    rows: tuple[Row, ...]
    redraws: tuple[Redraws, ...]
    third: Floats

    def of(self, scenario: str) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.scenario == scenario)


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Tables:
    prior = priors()
    cases = [
        (name, prior[name], alpha, config.tolerance)
        for name in config.scenarios
        for alpha in config.alphas
    ]
    drawn = draw_third(rng, config.redraws)
    chunks = [
        (drawn[start : start + CHUNK], alpha)
        for alpha in config.alphas
        for start in range(0, config.redraws, CHUNK)
    ]
    rows = each(table_row, cases)
    losses = each(losses_of_third, chunks)
    by_alpha = [
        np.concatenate([part for (_, a), part in zip(chunks, losses, strict=True) if a == alpha])
        for alpha in config.alphas
    ]
    return Tables(
        rows=tuple(rows), redraws=tuple(map(Redraws, config.alphas, by_alpha)), third=prior["III"]
    )


def table_row(case: tuple[str, Floats, float, float]) -> Row:
    name, prior, alpha, tolerance = case
    counts = printed_counts(name, alpha)
    family = design(prior, alpha, tolerance=tolerance)
    general = design(prior, alpha, family="general", outputs="free", tolerance=tolerance)
    return Row(
        scenario=name,
        alpha=alpha,
        counts=counts,
        printed=best_placement(prior, counts, alpha=alpha)[1],
        optimum=in_words(family.keep, alpha),
        family=family.value,
        family_bound=family.bound,
        general=general.value,
        general_bound=general.bound,
        ceiling=family.ceiling,
    )


def losses_of_third(case: tuple[Floats, float]) -> Floats:
    drawn, alpha = case
    counts = printed_counts("III", alpha)
    printed = [best_placement(prior, counts, alpha=alpha)[1] for prior in drawn]
    optima = [design(prior, alpha).value for prior in drawn]
    return np.asarray(np.maximum(0.0, 1 - np.array(printed) / np.array(optima)))


def tables(data: Tables) -> tuple[Table, ...]:
    scenarios = list(dict.fromkeys(row.scenario for row in data.rows))
    return (
        *(scenario_table(name, data.of(name)) for name in scenarios),
        redraw_table(data.redraws),
    )


def scenario_table(name: str, rows: tuple[Row, ...]) -> Table:
    number = SCENARIOS.index(name) + 1
    return Table(
        f"table-{number}",
        f"Table {number}, scenario {name}. Printed: the counts of the paper. Information in nats.",
        headings(
            "α:g | # v_α | # v_−α | # v_min | # v_max | I, printed:.6f | "
            "best in family:text | I, best in family:.6f | proven ≤:.6f | "
            "printed loses:.3% | I, best of all:.6f | proven ≤:.6f | universal bound:.6f"
        ),
        fields(
            rows,
            "alpha counts.v_alpha counts.v_minus_alpha counts.v_min counts.v_max printed optimum "
            "family family_bound loss general general_bound ceiling",
        ),
    )


def redraw_table(redraws: tuple[Redraws, ...]) -> Table:
    return Table(
        "table-3-redraws",
        "Scenario III over priors drawn as described: what the printed vertex loses against the "
        "best of the family.",
        headings(
            "α:g | draws | printed is optimal in | least loss:.5% | median loss:.3% | "
            "largest loss:.3%"
        ),
        tuple(
            (
                r.alpha,
                len(r.losses),
                r.optimal,
                *(float(of(r.losses)) for of in (np.min, np.median, np.max)),
            )
            for r in redraws
        ),
    )


LINES = (
    ("general", "best of all matrices", SERIES[2]),
    ("family", "best in the paper’s family", SERIES[0]),
    ("printed", "printed in the paper", SERIES[1]),
)


def pictures(data: Tables) -> tuple[Picture, ...]:
    with house_style():
        figure = draw(data)
    return (
        Picture(
            "tables-shares",
            "Information as a share of the most that α allows for any mechanism (100 %: the "
            "smaller of the universal bound and the entropy). Squares: the vertices printed in "
            "Tables 1 to 4.",
            "For each scenario, three lines over α: best of all matrices, best in the family, and "
            "the printed vertex, as shares of the universal bound.",
            figure,
        ),
    )


def draw(data: Tables) -> Figure:
    scenarios = list(dict.fromkeys(row.scenario for row in data.rows))
    rows = math.ceil(len(scenarios) / 2)
    figure = new_figure(WIDTH, 2.35 * rows + 0.4)
    panels = np.ravel(figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False))
    for axes, name in zip(panels, scenarios, strict=False):
        draw_scenario(axes, name, rows=data.of(name))
    for axes in panels[len(scenarios) :]:
        axes.set_visible(False)
    shared_legend(figure, panels[0], "upper")
    return figure


def draw_scenario(axes: Axes, name: str, *, rows: Sequence[Any]) -> None:
    alphas = [row.alpha for row in rows]
    for field, label, series in LINES:
        shares = [getattr(row, field) / row.ceiling for row in rows]
        axes.plot(
            alphas, shares, **series.look, label=label, markersize=6 if field == "printed" else 5
        )
    axes.axhline(1, color=BLACK, linewidth=0.8)
    axes.set_ylim(0, 1.08)
    axes.set_xticks(alphas)
    in_percent(axes.yaxis)
    axes.set_title(f"Scenario {name}")
    axes.set_xlabel("α")
    axes.label_outer()
