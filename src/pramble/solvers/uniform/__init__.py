"""The paper's family: uniform rows, their feasible set, and its proven optimum."""
