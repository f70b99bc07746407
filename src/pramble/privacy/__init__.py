"""How private is exactly what will be sampled."""
