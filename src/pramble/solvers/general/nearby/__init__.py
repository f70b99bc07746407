"""Designs that move people near: the least expected loss over all α-DP matrices."""
