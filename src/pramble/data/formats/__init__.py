"""File formats: one file each; `registry` lists them."""
