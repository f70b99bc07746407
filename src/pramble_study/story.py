"""The figures that the page's sentences name, computed from what the studies found."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from pramble_study.new_york import WORDS
from pramble_study.paper import THIRD_SEED

if TYPE_CHECKING:
    from markupsafe import Markup

    from pramble_study.errata import Errata
    from pramble_study.estimates import Cell, Estimates
    from pramble_study.new_york import Best, NewYork
    from pramble_study.tables import Row, Tables

__all__ = ["THIRD_SEED", "WORDS"]

# The scenario whose prior the paper drew at random and did not print.
UNPRINTED = "III"


def percent(value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f} %"


def times(value: float, digits: int = 1) -> str:
    return f"{value:.{digits}f}"


def power(value: float) -> Markup:
    from markupsafe import Markup

    digits, exponent = f"{value:.1e}".split("e")
    return Markup("{} × 10<sup>{}</sup>").format(digits, str(int(exponent)).replace("-", "−"))


def math_marks(text: str) -> Markup:
    from markupsafe import Markup, escape

    marked = re.sub(r"\^(?:\{([^}]+)\}|(−?\d?α))", r"<sup>\1\2</sup>", str(escape(text)))
    marked = re.sub(r"\b([vqe])_(−?\w+)", r"\1<sub>\2</sub>", marked)
    return Markup(marked)  # noqa: S704 (escaped above)


FILTERS: dict[str, Any] = {"percent": percent, "times": times, "power": power, "math": math_marks}


def printed_rows(data: Tables) -> list[Row]:
    """Return the rows whose prior the paper printed: only of these can anything be proven."""
    return [row for row in data.rows if row.scenario != UNPRINTED]


def drawn_rows(data: Tables) -> list[Row]:
    return [row for row in data.rows if row.scenario == UNPRINTED]


def wrong_rows(rows: list[Row]) -> list[Row]:
    return [row for row in rows if not row.is_optimal]


def worst_row(data: Tables) -> Row:
    return max(data.rows, key=lambda row: row.loss)


def all_high(data: Tables) -> int:
    """Return in how many rows the optimum is randomised response, all v_α."""
    return sum(row.optimum.endswith(" v_α") and "+" not in row.optimum for row in data.rows)


def widest_gap(data: Tables) -> float:
    gaps = [
        max(row.family_bound / row.family, row.general_bound / row.general) - 1 for row in data.rows
    ]
    return max(gaps)


def largest_gain(data: Tables) -> Row:
    return max(data.rows, key=lambda row: row.general / row.family)


def wrong_redraws(data: Tables) -> list[float]:
    return [redraw.alpha for redraw in data.redraws if redraw.optimal == 0]


def sharp(data: Errata) -> bool:
    """Whether the list of Proposition 2 was right exactly where e^α ≤ S − 2."""
    return all(case.agrees == (case.a <= case.S - 2) for case in data.enumerations)


def printed_threshold(S: int) -> float:
    return math.log((S + math.sqrt(S * (S - 4)) - 2) / 2)


def error_ratio(data: Estimates, scenario: str, alpha: float) -> float:
    printed = data.cell(scenario, alpha, design="printed").rmse
    return printed / data.cell(scenario, alpha, design="estimation").rmse


def error_range(data: Estimates) -> tuple[float, float]:
    ratios = [
        error_ratio(data, cell.scenario, cell.alpha)
        for cell in data.cells
        if cell.design == "printed"
    ]
    return min(ratios), max(ratios)


def worst_error(data: Estimates) -> Cell:
    printed = [cell for cell in data.cells if cell.design == "printed"]
    return max(printed, key=lambda cell: error_ratio(data, cell.scenario, cell.alpha))


def people_ratio(data: Estimates, scenario: str, alpha: float) -> float:
    return error_ratio(data, scenario, alpha) ** 2


def hardly_estimable(data: NewYork, times: float = 10.0) -> list[Best]:
    return [
        best
        for best in data.designs
        if best.design == "information" and best.standard_error > times * smallest_error(data, best)
    ]


def smallest_error(data: NewYork, best: Best) -> float:
    return data.best(best.variable, best.alpha, design="estimation").standard_error


def gain(data: NewYork, alpha: float) -> Best:
    candidates = [b for b in data.designs if b.design == "information" and b.alpha == alpha]
    return max(candidates, key=lambda best: gain_of(data, best))


def gain_of(data: NewYork, best: Best) -> float:
    family = data.best(best.variable, best.alpha, design="family")
    return best.information / family.information
