"""Sphinx configuration."""

import sys
from pathlib import Path

import pramble

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "pramble"
copyright = "the pramble developers"
version = release = pramble.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "numpydoc",
]
html_theme = "pydata_sphinx_theme"
html_title = "pramble"
html_math_renderer = "mathml"
html_theme_options = {
    "show_toc_level": 2,
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"**": ["globaltoc.html"]}
exclude_patterns = ["_build"]
numpydoc_show_class_members = False
html_static_path = ["_static"]
html_css_files = ["pramble.css"]
autodoc_typehints = "none"
