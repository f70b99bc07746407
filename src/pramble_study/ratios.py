"""Kairouz, Oh and Viswanath's setting: how near simple mechanisms come to the optimum."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from matplotlib.figure import Figure

from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.plots.images import Picture
from pramble.plots.style import BLACK, SERIES, WIDTH, house_style, in_percent, new_figure
from pramble.solvers.design import design
from pramble.values import Floats, value
from pramble_study.study import Column, Spread, Table, in_turn

SIMPLE = ("randomised response", "binary mechanism", "the paper’s family")


@dataclass(frozen=True)
class Config:
    size: int = 6
    priors: int = 100
    alphas: tuple[float, ...] = tuple(np.geomspace(0.1, 10, 25).round(4).tolist())


@value
class Ratios:
    """Information relative to the optimum, (mechanisms, α, priors), and its widest proven gap."""

    alphas: Floats
    ratios: Floats
    largest_gap: float

    def worst(self, name: str) -> tuple[float, float]:
        means = self.ratios[SIMPLE.index(name)].mean(axis=1)
        return float(means.min()), float(self.alphas[means.argmin()])


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Ratios:
    priors = rng.dirichlet(np.ones(config.size), size=config.priors)
    answers = each(compare, [(prior, config.alphas) for prior in priors])
    table = np.array(answers)
    return Ratios(
        alphas=np.array(config.alphas),
        ratios=np.moveaxis(table[:, :, :3], 0, 2).swapaxes(0, 1).copy(),
        largest_gap=float(table[:, :, 3].max()),
    )


def compare(case: tuple[Floats, tuple[float, ...]]) -> Floats:
    prior, alphas = case
    rows = []
    for alpha in alphas:
        optimum = design(prior, alpha, family="general", outputs="free")
        simple = (
            mutual_information(prior, randomized_response(len(prior), alpha)),
            mutual_information(prior, binary(prior, alpha)),
            design(prior, alpha).value,
        )
        rows.append([*(value / optimum.value for value in simple), optimum.gap])
    return np.array(rows)


def binary(prior: Floats, alpha: float) -> Mechanism:
    """Return the binary mechanism: tell, by randomised response, on which side of a split x lies.

    The split is the one whose sides are nearest to even, which carries most information.
    """
    splits = np.array(list(product((0, 1), repeat=len(prior) - 1)))
    sides = np.column_stack([np.zeros(len(splits), dtype=np.int64), splits])
    chosen = sides[np.abs(sides @ prior - 0.5).argmin()]
    two = randomized_response(2, alpha).matrix
    return Mechanism.from_matrix(two[chosen], outputs=2, alpha=alpha)


def tables(data: Ratios) -> tuple[Table, ...]:
    rows = []
    for position, alpha in enumerate(data.alphas):
        at = data.ratios[:, position]
        pairs = [value for one in at for value in (float(one.mean()), float(one.min()))]
        rows.append((float(alpha), *pairs))
    return (
        Table(
            "ratios",
            f"Information relative to the optimum over {data.ratios.shape[2]} priors on 6 values.",
            (
                Column("α", "g"),
                *(Column(f"{one}, {what}", ".4f") for one in SIMPLE for what in ("mean", "least")),
            ),
            tuple(rows),
            shown=False,
        ),
    )


LINES = (SERIES[1], SERIES[3], SERIES[0])


def pictures(data: Ratios) -> tuple[Picture, ...]:
    with house_style():
        figure = draw(data)
    return (
        Picture(
            "ratios",
            f"Information relative to the best α-DP matrix, 6 values, "
            f"{data.ratios.shape[2]} priors uniform on the simplex. Lines: mean; bands: from the "
            "5th to the 95th hundredth of the priors.",
            "Three curves over α: randomised response and the paper's family fall short at small α "
            "and approach one at large α; the binary mechanism does the opposite.",
            figure,
        ),
    )


def draw(data: Ratios) -> Figure:
    figure = new_figure(WIDTH, 3.6)
    axes = figure.subplots()
    axes.axhline(1, color=BLACK, linewidth=0.8)
    for name, ratios, series in zip(SIMPLE, data.ratios, LINES, strict=True):
        low, high = np.quantile(ratios, [0.05, 0.95], axis=1)
        axes.fill_between(data.alphas, low, high, color=series.colour, alpha=0.15, linewidth=0)
        axes.plot(data.alphas, ratios.mean(axis=1), **series.look, label=name)
    axes.set_xscale("log")
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10) if tick <= data.alphas.max()]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.05)
    in_percent(axes.yaxis)
    axes.set_xlabel("α")
    axes.set_ylabel("share of the optimum")
    axes.legend(loc="lower center")
    return figure
