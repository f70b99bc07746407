"""Figures 5 and 6: sex in New York, at the paper's six keep probabilities and the end points."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pramble.datasets import new_york_2000_margins
from pramble.engine.perturb import perturb
from pramble.estimation.estimate import estimate
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import keep_probabilities
from pramble.plots.images import Picture
from pramble.plots.style import BLACK, BLUE, GREEN, WIDTH, house_style, new_figure
from pramble.privacy.certificate import certify
from pramble.values import Floats, frozen
from pramble_study.axes import shared_legend
from pramble_study.estimates import draw_cloud, standard_error
from pramble_study.paper import REPETITIONS, SEX_ALPHA, SEX_KEEP, keep_levels
from pramble_study.study import Spread, Table, headings, in_turn


@dataclass(frozen=True)
class Config:
    alpha: float = SEX_ALPHA
    keep: tuple[float, ...] = SEX_KEEP
    repetitions: int = REPETITIONS
    curve: int = 41
    share: float = 1.0


@frozen
class Panel:
    q: float
    end_point: bool
    certified: float
    satisfies: bool
    estimates: Floats
    rmse: float
    expected: float
    information: float
    from_margins: Floats
    from_pairs: Floats


@frozen
class Sex:
    alpha: float
    counts: tuple[int, int]
    labels: tuple[str, str]
    panels: tuple[Panel, ...]
    curve_q: Floats
    curve: Floats

    @property
    def prior(self) -> Floats:
        return np.array(self.counts) / sum(self.counts)

    @property
    def interval(self) -> tuple[float, float]:
        return interval(self.alpha)


Case = tuple[float, bool, tuple[int, int], Config, np.random.Generator]


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Sex:
    margin = new_york_2000_margins()["SEX"]
    first, second = (round(count * config.share) for count in margin.values())
    low, high = interval(config.alpha)
    grid = sorted([*((q, False) for q in config.keep), (low, True), (high, True)])
    cases = [
        (q, end, (first, second), config, own)
        for (q, end), own in zip(grid, rng.spawn(len(grid)), strict=True)
    ]
    curve_q = np.linspace(low, high, config.curve)
    prior = np.array([first, second]) / (first + second)
    labels = tuple(margin)
    return Sex(
        alpha=config.alpha,
        counts=(first, second),
        labels=(labels[0], labels[1]),
        panels=tuple(each(panel, cases)),
        curve_q=curve_q,
        curve=np.array([mutual_information(prior, symmetric(q)) for q in curve_q]),
    )


def interval(alpha: float) -> tuple[float, float]:
    levels = keep_levels(2, alpha)
    return levels.v_minus_alpha, levels.v_alpha


def symmetric(q: float, alpha: float | None = None) -> Mechanism:
    return keep_probabilities([q, q], alpha=alpha)


def panel(case: Case) -> Panel:
    q, end, counts, config, rng = case
    mechanism = symmetric(q, config.alpha if end else None)
    prior = np.array(counts) / sum(counts)
    column = np.repeat(np.array([0, 1], dtype=np.uint8), counts)
    joint = np.array(
        [
            released_counts(column, counts[0], mechanism=mechanism, key=rng.bytes(32))
            for _ in range(config.repetitions)
        ]
    )
    margins = joint.sum(axis=1)
    estimates = np.array(
        [estimate(margin, mechanism, counts=True).probabilities for margin in margins]
    )
    certificate = certify(mechanism)
    return Panel(
        q=q,
        end_point=end,
        certified=certificate.alpha,
        satisfies=certificate.satisfies(config.alpha),
        estimates=estimates,
        rmse=float(np.sqrt(((estimates - prior) ** 2).mean())),
        expected=standard_error(prior, mechanism, n=len(column), fixed=True),
        information=mutual_information(prior, mechanism),
        from_margins=np.array([entropy(m / m.sum()) - entropy([q, 1 - q]) for m in margins]),
        from_pairs=np.array([plug_in(pairs) for pairs in joint]),
    )


def released_counts(
    column: NDArray[np.uint8], first: int, *, mechanism: Mechanism, key: bytes
) -> NDArray[np.int64]:
    released = perturb(column, mechanism, key=key, column="SEX", threads=1)
    ones = np.array([np.count_nonzero(released[:first]), np.count_nonzero(released[first:])])
    sizes = np.array([first, len(column) - first])
    return np.column_stack([sizes - ones, ones])


def plug_in(pairs: NDArray[np.int64]) -> float:
    shares = pairs / pairs.sum()
    return entropy(shares.sum(axis=0)) + entropy(shares.sum(axis=1)) - entropy(shares.ravel())


def tables(data: Sex) -> tuple[Table, ...]:
    return (
        Table(
            "figure-5-sex",
            f"Sex in New York, α = {data.alpha:g}: each keep probability, the smallest α that it "
            "satisfies, errors of the estimated shares, and information in nats.",
            headings(
                "q:.7f | certified α:.7f | private | RMSE of p̂:.4f | expected:.4f | "
                "information:.3e | plug-in, margins:.3e | plug-in, pairs:.3e"
            ),
            tuple(
                (p.q, p.certified, "yes" if p.satisfies else "no", p.rmse, p.expected,
                 p.information, float(p.from_margins.mean()), float(p.from_pairs.mean()))
                for p in data.panels
            ),
        ),
    )  # fmt: skip


def pictures(data: Sex) -> tuple[Picture, ...]:
    repetitions = len(data.panels[0].estimates)
    with house_style():
        return (
            Picture(
                "figure-5",
                f"Figure 5: estimated shares from {repetitions} releases at each keep probability "
                f"q, α = {data.alpha:g}. The outermost values of the paper are not private as "
                "claimed; the true end points stand beside them.",
                "Eight panels of estimated shares of two categories; the spread is largest near "
                "q = ½ and smallest at the ends.",
                draw_estimates(data),
            ),
            Picture(
                "figure-6",
                "Figure 6: information between true and released sex against q. Line: theory. "
                "Bars: middle half and whole range over the releases of the plug-in estimate from "
                "pairs (true, released); triangles: mean of the one from the two margins, as in "
                "the paper. Shaded: not private at this α.",
                "A parabola with its minimum at q = ½ and its largest values at the end points.",
                draw_information(data),
            ),
        )


def draw_estimates(data: Sex) -> Figure:
    columns = 4
    rows = -(-len(data.panels) // columns)
    figure = new_figure(WIDTH, 2.1 * rows + 0.4)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, panel in zip(grid.flat, data.panels, strict=False):
        draw_panel(axes, panel, data=data)
    for row in grid:
        row[0].set_ylabel("share")
    shared_legend(figure, grid[0, 0], markerscale=1.4)
    return figure


def draw_panel(axes: Axes, panel: Panel, *, data: Sex) -> None:
    draw_cloud(axes, panel.estimates, data.prior, first=0, diamond=5, alpha=0.5, markersize=3.6)
    note = " (end point)" if panel.end_point else "" if panel.satisfies else " (not private)"
    axes.set_title(f"q = {panel.q:.7g}{note}", loc="center", fontsize=7.5)
    axes.set_xticks([0, 1], data.labels)
    axes.set_xlim(-0.5, 1.5)


def draw_information(data: Sex) -> Figure:
    figure = new_figure(WIDTH * 0.8, 3.3)
    axes = figure.subplots()
    low, high = data.interval
    margin = 0.06 * (high - low)
    axes.plot(data.curve_q, 1e4 * data.curve, color=BLACK, label="theory")
    draw_plug_ins(axes, data)
    for start, end in ((low - margin, low), (high, high + margin)):
        axes.axvspan(start, end, color="0.88", zorder=0, linewidth=0)
    axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(bottom=-0.15)
    axes.set_xlabel("keep probability q")
    axes.set_ylabel("information (10⁻⁴ nats)")
    axes.legend(loc="upper center")
    return figure


def draw_plug_ins(axes: Axes, data: Sex) -> None:
    for position, panel in enumerate(data.panels):
        values = 1e4 * panel.from_pairs
        first = position == 0
        axes.plot([panel.q] * 2, [values.min(), values.max()], color=BLUE, linewidth=0.9)
        axes.plot(
            [panel.q] * 2,
            np.quantile(values, [0.25, 0.75]),
            color=BLUE,
            linewidth=4.5,
            solid_capstyle="butt",
            label="plug-in from pairs" if first else None,
        )
        axes.plot(
            panel.q,
            1e4 * panel.from_margins.mean(),
            "^",
            color=GREEN,
            markeredgecolor=BLACK,
            markeredgewidth=0.5,
            label="plug-in from margins" if first else None,
        )
