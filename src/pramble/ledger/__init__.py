"""What was spent on whom: the ledger, and how a release is entered in it."""
