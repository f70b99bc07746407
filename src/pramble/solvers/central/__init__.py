"""Designs for a central promise: files whose rows stand in random order."""
