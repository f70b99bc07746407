"""Work on Spark: rows stay on its workers, and only what is made of them comes here."""
