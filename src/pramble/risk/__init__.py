"""Disclosure risk: how likely re-identification is, before and after randomisation."""
