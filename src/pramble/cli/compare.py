"""The comparison of ``pramble design --compare``: every family against α, and the trade-off."""

from pathlib import Path

from rich.table import Table

import pramble
from pramble.cli.console import answers, print_json, table_of
from pramble.plots.images import save
from pramble.solvers.tradeoff import Comparison, Pareto

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The comparison is made at these multiples of α."""


def show_comparison(
    prior: list[float], alpha: float, *, tolerance: float, plot: Path | None, as_json: bool
) -> None:
    """Compute, print and draw the comparison around one α."""
    comparison = pramble.compare_designs(
        prior, [alpha * factor for factor in MULTIPLES], tolerance=tolerance
    )
    pareto = pramble.pareto_curve(prior, alpha)
    if as_json:
        print_json({"information": comparison.to_json(), "pareto": pareto.to_json()})
    else:
        answers().print(information_table(comparison))
        answers().print(pareto_table(pareto, alpha))
    if plot is not None:
        figure = pramble.plot_tradeoff(comparison, pareto)
        save(figure, plot, name="tradeoff", description="Information of every family against α")


def information_table(comparison: Comparison) -> Table:
    """Return the information of every family, a row per α."""
    headings = ("α", "randomised response", "uniform rows", "general", "at most")
    table = table_of("Information, nats", *headings)
    for row in zip(*comparison.to_json().values(), strict=True):
        table.add_row(f"{row[0]:g}", *(f"{value:.6g}" for value in row[1:]))
    return table


def pareto_table(pareto: Pareto, alpha: float) -> Table:
    """Return information and variance of the matrices that no other beats in both."""
    headings = ("information, nats", "n × variance of the shares")
    table = table_of(f"General matrices at α = {alpha:g}", *headings)
    for information, variance in zip(pareto.information, pareto.variance, strict=True):
        table.add_row(f"{information:.6g}", f"{variance:.6g}")
    return table
