"""The figures of the studies, drawn from what the studies found."""
