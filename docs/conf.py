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
    "measured",
    "vocabularies",
    "tutorials",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "**sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "code"
nitpicky = True
nitpick_ignore = [  # short names in first sentences, which tables repeat on other pages
    ("py:meth", "after"),
    ("py:data", "THIRD_SEED"),
]

html_theme = "pydata_sphinx_theme"
html_title = "pramble"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["pramble.css"]
html_sidebars = {"**": ["contents.html"]}
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_toc_level": 2,
    "navbar_center": [],
    "navbar_persistent": ["search-button-field"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"[\\/]plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("pictures.scraper",),
    "reset_modules": ("pictures.reset",),
    "remove_config_comments": True,
    "download_all_examples": False,
    "capture_repr": (),
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 5,
    "abort_on_example_error": True,
    "plot_gallery": "True",
}
