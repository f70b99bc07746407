"""Release categorical microdata under differential privacy, with the most information it allows."""

__version__ = "0.1.0"
