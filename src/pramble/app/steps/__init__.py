"""The five steps of the desk, one module each: what is shown, and what happens when it is used."""
