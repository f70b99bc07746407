"""A first plan for a file: what each column is, and the plan that follows."""
