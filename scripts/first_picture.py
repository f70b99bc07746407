"""Draw the README's picture, docs/_static/first.png, from the first page of the gallery.

Run ``python scripts/first_picture.py`` where that page or the style of pictures has changed.
"""

import runpy
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURE = DOCS / "_static" / "first.png"

if __name__ == "__main__":
    sys.path.insert(0, str(DOCS / "_ext"))
    from pictures import reset

    reset(None, None)
    drawn = runpy.run_path(str(DOCS / "gallery" / "plot_00_first.py"))
    drawn["figure"].savefig(PICTURE, dpi=130)
