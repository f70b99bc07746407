"""Designs for records: which columns travel together, how often, and by which matrices."""
