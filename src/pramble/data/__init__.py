"""One boundary for data: every format, frame and stream, in and out."""
