"""Tables from randomised records: the unbiased inverse, its errors, likelihood, intervals."""
