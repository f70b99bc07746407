"""The release folder: built whole, described by its manifest, opened and checked again."""
