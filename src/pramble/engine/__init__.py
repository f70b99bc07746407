"""The engine: a keyed stream of secure bits, exact sampling, and every form data comes in."""
