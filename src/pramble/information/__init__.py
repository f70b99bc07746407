"""Entropy, mutual information, its universal bound, and Fisher information."""
