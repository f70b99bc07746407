"""What a file promises whose rows stand in random order: central (ε, δ)."""
