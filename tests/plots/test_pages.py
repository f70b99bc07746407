"""The shell of a page carries all it needs and refuses names that are not given."""

import pytest
from jinja2 import UndefinedError

from pramble.plots.images import page_environment, style_sheet


def test_a_page_is_self_contained_and_escapes():
    environment = page_environment("pramble.plots")
    page = environment.from_string(
        '{% extends "page.html" %}{% block content %}<p>{{ words }}</p>{% endblock %}'
    ).render(words="<script>")
    assert "&lt;script&gt;" in page
    assert style_sheet() in page
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page


def test_a_name_that_is_not_given_is_an_error():
    template = page_environment("pramble.plots").from_string("{{ missing }}")
    with pytest.raises(UndefinedError):
        template.render()
