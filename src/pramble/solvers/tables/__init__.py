"""Designs of protected tables: how much noise each part of them gets."""
