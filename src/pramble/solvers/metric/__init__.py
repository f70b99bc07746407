"""Designs whose promise is by distance: α holds per unit between categories."""
