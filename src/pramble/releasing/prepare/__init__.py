"""From decisions and counts to mechanisms within the budget, before anything is written."""
