"""The comparison of ``pramble design --compare``: every family against α, and the trade-off."""

from pathlib import Path
from typing import Any

from rich.table import Table

from pramble.cli.console import answers, print_json
from pramble.solvers.tradeoff import Comparison, Pareto

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The comparison is made at these multiples of α."""


def show_comparison(
    prior: list[float], alpha: float, *, tolerance: float, plot: Path | None, as_json: bool
) -> None:
    """Compute, print and draw the comparison around one α."""
    import pramble

    comparison = pramble.compare_designs(
        prior, [alpha * factor for factor in MULTIPLES], tolerance=tolerance
    )
    pareto = pramble.pareto_curve(prior, alpha)
    if as_json:
        print_json(document(comparison, pareto))
    else:
        answers().print(information_table(comparison))
        answers().print(pareto_table(pareto, alpha))
    if plot is not None:
        write_plot(comparison, pareto, plot)


def document(comparison: Comparison, pareto: Pareto) -> dict[str, Any]:
    """Return both curves as plain data; an infinite variance is null."""
    curve: dict[str, Any] = dict(pareto.to_json())
    curve["variance"] = [None if value == float("inf") else value for value in curve["variance"]]
    return {"information": comparison.to_json(), "pareto": curve}


def information_table(comparison: Comparison) -> Table:
    """Return the information of every family, a row per α."""
    table = Table(title="Information, nats")
    for name in ("α", "randomised response", "uniform rows", "general", "at most"):
        table.add_column(name, justify="right")
    columns = comparison.to_json()
    for row in zip(*columns.values(), strict=True):
        table.add_row(f"{row[0]:g}", *(f"{value:.6g}" for value in row[1:]))
    return table


def pareto_table(pareto: Pareto, alpha: float) -> Table:
    """Return information and variance of the matrices that no other beats in both."""
    table = Table(title=f"General matrices at α = {alpha:g}")
    for name in ("information, nats", "variance of the estimate of p, × 1/n"):
        table.add_column(name, justify="right")
    for information, variance in zip(pareto.information, pareto.variance, strict=True):
        table.add_row(f"{information:.6g}", f"{variance:.6g}")
    return table


def write_plot(comparison: Comparison, pareto: Pareto, target: Path) -> None:
    """Write the figure in the format that the file's name says."""
    import pramble

    pramble.plot_tradeoff(comparison, pareto).savefig(target)
