"""The curator's whole job: prior, budget, plan, release, manifest and ledger."""
