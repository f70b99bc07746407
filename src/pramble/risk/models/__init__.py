"""Models of the population that a file was sampled from: one file each, listed in ``registry``."""
