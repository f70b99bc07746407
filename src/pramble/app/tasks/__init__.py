"""What the steps ask for in the background: each function is one verb, in the worker's process."""
