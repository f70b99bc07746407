"""What lies next to the evidence of a release: scripts, copies, complete records."""
