"""What a release says about the original: estimates, intervals, tables, tests and regressions."""
