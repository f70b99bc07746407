"""The release folder: built whole, described, entered in the ledger, opened again."""
