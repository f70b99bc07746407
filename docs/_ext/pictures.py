"""Pictures of the gallery: the figures that a page binds to names, as a release draws them."""

import warnings
from pathlib import Path

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from pramble.errors import PrambleWarning
from pramble.plots.images import to_png

drawn = set()


def scraper(_block, block_vars, gallery_conf):
    """Write the figures that were made since the last block, and say where they stand."""
    paths, titles = [], []
    for figure in block_vars["example_globals"].values():
        if isinstance(figure, Figure) and id(figure) not in drawn:
            drawn.add(id(figure))
            path = Path(next(block_vars["image_path_iterator"]))
            path.write_bytes(to_png(figure))
            paths.append(str(path))
            titles += [axes.get_title() or axes.get_ylabel() for axes in figure.axes]
    alt = "; ".join(title for title in titles if title)
    return figure_rst(paths, gallery_conf["src_dir"], alt) if paths else ""


def reset(_gallery_conf, _page):
    """Forget the figures of the page before; remarks of a result are in its text."""
    drawn.clear()
    warnings.simplefilter("ignore", PrambleWarning)
