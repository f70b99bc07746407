"""Copies of the released data in formats that readers open, made from it and the plan alone."""
