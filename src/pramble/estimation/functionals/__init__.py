"""What is estimated from a table: queries, ratios, distributions, models."""
