"""The paper's names for keep probabilities."""

from fractions import Fraction

from pramble.solvers.uniform.polytope import Corner


def level_name(q: Fraction, corner: Corner, *, size: int, a: Fraction) -> str:
    r"""Return the paper's name of a keep probability, or its rank where the paper has none.

    :math:`v_\alpha`, :math:`v_{-\alpha}`, :math:`v_{\min}`, :math:`v_{\max}` as in its Proposition
    on the feasible set; ``M₁ ≥ M₂ ≥ m₂ ≥ m₁`` are the largest two and the smallest two.
    """
    n = size - 1
    names = {
        a * a / (a * n + 1): "v_max",
        a / (n + a): "v_α",
        1 / (a * n + 1): "v_−α",
        1 / (a * (n + a)): "v_min",
        Fraction(1, size): "1/S",
    }
    ranks = dict(zip(reversed(corner), ("m₁", "m₂", "M₂", "M₁"), strict=True))
    return names.get(q, ranks[q])
