"""The page of benchmarks, out of the figures that ``python -m bench page`` wrote."""

import json
from pathlib import Path

from docutils import nodes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from sphinx.util.docutils import SphinxDirective

from pramble.plots.style import RC, SERIES

RESULTS = Path(__file__).parents[2] / "bench" / "results"
ORDER = (
    "randomising", "designing", "estimating", "records", "files", "risk", "spark", "central",
    "counting",
)  # fmt: skip
BOUNDS = ("no mechanism is below", "no linear Gaussian mechanism is below")
"""Not peers: what is proven of all, or of all of a kind."""
ALIKE = 1.02
"""Figures within two per cent are alike."""


def read_results(folder=RESULTS):
    """Every claim that has figures, in the order of the page."""
    paths = [folder / f"{name}.json" for name in ORDER]
    return [json.loads(path.read_text("utf-8")) for path in paths if path.exists()]


def cases(table):
    """Each case of a table with what everyone has in it."""
    found = {}
    for row in table["rows"]:
        found.setdefault(row["case"], {})[row["who"]] = row["figure"]
    return found


def times_better(table, ours, theirs):
    """How many times better pramble is: above one where it is better.

    >>> times_better({"better": "less"}, 2.0, 5.0), times_better({"better": "more"}, 2.0, 5.0)
    (2.5, 0.4)
    """
    return theirs / ours if table["better"] == "less" else ours / theirs


def shown(figure):
    """A figure with three digits."""
    if figure and not 1e-3 <= abs(figure) < 1e6:
        digits, _, power = f"{figure:.2e}".partition("e")
        return f"{digits} × 10\\ :sup:`{int(power)}`"
    return f"{figure:,.0f}" if abs(figure) >= 1000 else f"{figure:.3g}"


def beside(table, figures, who):
    """A cell: the figure of a peer and how it stands to pramble's."""
    if who not in figures:
        return ""
    if who in BOUNDS:
        return shown(figures[who])
    ratio = times_better(table, figures["pramble"], figures[who])
    if 1 / ALIKE <= ratio <= ALIKE:
        word = "alike"
    else:
        word = f"×\u00a0{shown(ratio)}" if ratio > 1 else f"**×\u00a0{shown(ratio)}**"
    return f"{shown(figures[who])} ({word})"


def table_lines(table):
    """A table as a list-table: a row for each case, a column for everyone who was measured."""
    found = cases(table)
    others = list(dict.fromkeys(row["who"] for row in table["rows"] if row["who"] != "pramble"))
    lines = [f".. list-table:: {table['title']}, {table['unit']}; {table['better']} is better"]
    lines += ["   :header-rows: 1", "", "   * - Case", "     - pramble"]
    lines += [f"     - {who}" for who in others]
    for case, figures in found.items():
        lines += [f"   * - {case}", f"     - {shown(figures['pramble'])}"]
        lines += [f"     - {beside(table, figures, who)}".rstrip() for who in others]
    return [*lines, "", table["note"], ""]


def losses(results):
    """Where another is better than pramble: claim, table, case, who, and how many times."""
    for claim in results:
        for table in claim["tables"]:
            for case, figures in cases(table).items():
                for who, figure in figures.items():
                    if who in {"pramble", *BOUNDS}:
                        continue
                    ratio = times_better(table, figures["pramble"], figure)
                    if ratio < 1 / ALIKE:
                        yield claim, table, case, who, 1 / ratio


def drawn(curve, path):
    """Write the picture of a curve."""
    import matplotlib as mpl

    with mpl.rc_context({**RC, "text.parse_math": True}):
        figure = Figure(figsize=(6.4, 3), layout="constrained")
        axes = figure.subplots()
        for series, (who, points) in zip(SERIES, curve["lines"].items(), strict=False):
            places, heights = zip(*points, strict=True)
            axes.plot(places, heights, label=who, **series.look)
            if max(places) > 30 * min(places):
                axes.set_xscale("log")
        heights = [height for points in curve["lines"].values() for _, height in points]
        if max(heights) > 30 * min(heights):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        if axes.get_xscale() == "linear":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(curve["along"])
        axes.set_ylabel(curve["unit"])
        axes.set_title(curve["title"])
        axes.legend()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160)


class Benchmarks(SphinxDirective):
    """``.. benchmarks::``: every claim with its date; ``.. benchmarks:: losses``: what is lost."""

    optional_arguments = 1

    def run(self):
        results = read_results()
        for name in ORDER:
            self.env.note_dependency(str(RESULTS / f"{name}.json"))
        if not results:
            return [nodes.paragraph(text="No figures yet: python -m bench page writes them.")]
        lines = self.lost(results) if self.arguments else self.claims(results)
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)

    def lost(self, results):
        found = list(losses(results))
        if not found:
            return ["Nowhere in these tables."]
        kept = {}
        for claim, table, case, who, ratio in found:
            kept.setdefault((claim["title"], table["title"], who), []).append((case, ratio))
        return [
            f"* {title}, {what[0].lower()}{what[1:]}, beside {who}: "
            + "; ".join(f"{case}, {shown(ratio)} times" for case, ratio in lost)
            for (title, what, who), lost in kept.items()
        ]

    def claims(self, results):
        lines = []
        for claim in results:
            lines += [claim["title"], "~" * len(claim["title"]), ""]
            for table in claim["tables"]:
                lines += table_lines(table)
            for parts in claim["parts"]:
                lines += [f"{parts['title']}, {parts['unit']}:", ""]
                lines += [f"* {what}: {shown(cost)}" for what, cost in parts["costs"].items()]
                lines += [""]
            for number, curve in enumerate(claim["curves"]):
                name = f"benchmark_{claim['claim']}_{number}.png"
                drawn(curve, Path(self.env.srcdir) / "generated" / name)
                alt = f"{curve['title']}: {curve['unit']} against {curve['along']}."
                lines += [f".. image:: /generated/{name}", f"   :alt: {alt}", "   :width: 75%", ""]
            lines += [self.about(claim), ""]
        return lines

    def about(self, claim):
        machine = claim["machine"]
        versions = ", ".join(f"{name} {number}" for name, number in claim["versions"].items())
        return (
            f"Measured on {claim['date']} by ``{claim['command']}`` in {claim['seconds']:.0f} s, "
            f"on {machine['cores']} cores ({machine['processor']}, {machine['system']}; load "
            f"{machine['load']:.1f} at the start); {versions}."
        )


def setup(app):
    app.add_directive("benchmarks", Benchmarks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
