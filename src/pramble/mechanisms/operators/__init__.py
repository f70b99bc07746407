"""A mechanism as a linear map: one operator for each kind, used by every area."""
