"""The source paper reproduced and corrected: one file per table or figure, and the page."""
