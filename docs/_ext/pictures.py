"""Pictures of the gallery: the figures that a page binds to names, as a release draws them."""

import warnings
from pathlib import Path

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from pramble.errors import PrambleWarning
from pramble.plots.style import RC, SERIES

drawn = set()


def scraper(_block, block_vars, gallery_conf):
    """Write the figures that were made since the last block, and say where they stand."""
    paths, titles = [], []
    for figure in block_vars["example_globals"].values():
        if isinstance(figure, Figure) and id(figure) not in drawn:
            drawn.add(id(figure))
            path = Path(next(block_vars["image_path_iterator"]))
            with mpl.rc_context({"text.parse_math": True}):  # for powers of ten along axes
                figure.savefig(path, dpi=160)
            paths.append(str(path))
            titles += [axes.get_title(loc="left") or axes.get_ylabel() for axes in figure.axes]
    alt = "; ".join(title for title in titles if title)
    return figure_rst(paths, gallery_conf["src_dir"], alt) if paths else ""


def reset(_gallery_conf, _page):
    """Begin a page: no figures yet, the house style; remarks of a result are in its text."""
    drawn.clear()
    mpl.use("agg")
    mpl.rcParams.update({**RC, "text.parse_math": True})
    looks = [series.look for series in SERIES]
    mpl.rcParams["axes.prop_cycle"] = cycler(
        **{part: [look[part] for look in looks] for part in ("color", "linestyle")}
    )
    warnings.simplefilter("ignore", PrambleWarning)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
