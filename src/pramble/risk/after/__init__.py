"""What randomisation leaves of the risk."""
