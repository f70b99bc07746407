"""Sphinx configuration."""

import pramble

project = "pramble"
copyright = "the pramble developers"
version = release = pramble.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
html_theme = "pydata_sphinx_theme"
html_title = "pramble"
exclude_patterns = ["_build"]
numpydoc_show_class_members = False
