"""Which α meets a target of risk or of accuracy."""
