"""From spec and counts to mechanisms within the budget, before anything is written."""
