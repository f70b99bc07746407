"""The paper's names for keep probabilities."""

from fractions import Fraction

from pramble.solvers.uniform.polytope import Corner, paper_levels


def level_name(q: Fraction, corner: Corner, *, size: int, a: Fraction) -> str:
    r"""Return the paper's name of a keep probability, or its rank where the paper has none.

    :math:`v_\alpha`, :math:`v_{-\alpha}`, :math:`v_{\min}`, :math:`v_{\max}` as in its Proposition
    on the feasible set; ``M₁ ≥ M₂ ≥ m₂ ≥ m₁`` are the largest two and the smallest two.
    """
    names = {level: name for name, level in paper_levels(size, a).items()}
    names[Fraction(1, size)] = "1/S"
    ranks = dict(zip(reversed(corner), ("m₁", "m₂", "M₂", "M₁"), strict=True))
    return names.get(q, ranks[q])
