"""What a curator decides: the settings of a plan file."""
