"""Reports as self-contained HTML pages: plain data in, one file out."""
