"""How the results of the studies are drawn: one file per study."""
