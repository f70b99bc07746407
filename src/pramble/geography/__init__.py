"""Areas of a country: their shapes, places and neighbours, and how far apart they are."""
