r"""The errors of the paper's proofs, each with an exact counterexample and what holds instead.

Everything is decided in fractions, for rational :math:`a = e^\alpha`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pramble.mechanisms.uniform import keep_probabilities
from pramble.privacy.certificate import certify
from pramble.solvers.uniform.polytope import paper_levels
from pramble.values import frozen
from pramble_study.family import Point, exact_vertices, listed_vertices, privacy_rows
from pramble_study.paper import SEX_ALPHA, SEX_KEEP
from pramble_study.study import Spread, Table, fields, headings, in_turn


@dataclass(frozen=True)
class Config:
    sizes: tuple[int, ...] = (3, 4, 5, 6)
    step: Fraction = Fraction(1, 1000)


@frozen
class Enumeration:
    S: int
    a: Fraction
    place: str
    vertices: int
    kinds: int
    quadruples: int
    listed: int
    missing: int
    infeasible: int
    largest_ratio: Fraction

    @property
    def agrees(self) -> bool:
        """Whether the list of Proposition 2 is exactly the set of vertices."""
        return self.missing == 0 and self.infeasible == 0


@frozen
class Refutation:
    place: str
    printed: str
    correct: str
    point: str
    excess: Fraction
    corrected_excess: Fraction


@frozen
class Outside:
    q: float
    alpha: float
    certified: float
    satisfies: bool
    end: float


@frozen
class Errata:
    refutations: tuple[Refutation, ...]
    enumerations: tuple[Enumeration, ...]
    outside: Outside


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Errata:  # noqa: ARG001 (every study has one form)
    cases = [case for S in config.sizes for case in around_threshold(S, config.step)]
    return Errata(
        refutations=refutations(S=4, a=Fraction(3, 2)),
        enumerations=tuple(each(enumerate_case, cases)),
        outside=outside_interval(),
    )


def around_threshold(S: int, step: Fraction) -> list[tuple[int, Fraction, str]]:
    """Return values of e^α around the paper's threshold and around the sharp one, S − 2."""
    if S == 3:
        return [(3, a, "above S − 2") for a in (1 + step, Fraction(3, 2), Fraction(7))]
    printed = Fraction(math.isqrt(S * (S - 4) * 10**12), 10**6)
    below_printed = (S - 2 + printed) / 2
    cases = [
        (S, below_printed, "the paper’s bound"),
        (S, S - 2 - step, "between the two"),
        (S, Fraction(S - 2), "at S − 2"),
        (S, S - 2 + step, "just above S − 2"),
        (S, Fraction(7), "far above S − 2"),
    ]
    return [case for case in cases if case[1] > 1]


def enumerate_case(case: tuple[int, Fraction, str]) -> Enumeration:
    S, a, place = case
    true, listed = exact_vertices(S, a), listed_vertices(S, a)
    return Enumeration(
        S=S,
        a=a,
        place=place,
        vertices=len(true),
        kinds=len({tuple(sorted(q)) for q in true}),
        quadruples=len({quadruple(q) for q in true}),
        listed=len(listed),
        missing=len(true - listed),
        infeasible=sum(not is_private(q, a) for q in listed),
        largest_ratio=max(max(q) / min(q) for q in true),
    )


def quadruple(q: Point) -> Point:
    """Return the largest two and the smallest two entries, after checking the rest.

    Every other entry of a vertex equals the second largest or the second smallest.
    """
    ordered = sorted(q, reverse=True)
    extremes = (ordered[0], ordered[1], ordered[-2], ordered[-1])
    assert all(value in extremes[1:3] for value in ordered[2:-2])
    return extremes


def is_private(q: Point, a: Fraction) -> bool:
    """Whether a vector of keep probabilities satisfies every inequality of α-DP, exactly."""
    rows = privacy_rows(len(q), a)
    return all(row[0] + sum(c * v for c, v in zip(row[1:], q, strict=True)) >= 0 for row in rows)


def refutations(S: int, a: Fraction) -> tuple[Refutation, ...]:
    """Evaluate each misprinted inequality, and its correction, at a point that is surely private.

    The point is q = v_−α in every category, a vertex that Proposition 2 itself lists.
    """
    n, v = S - 1, paper_levels(S, a)["v_−α"]
    assert is_private((v,) * S, a)
    return (
        Refutation(
            "Appendix, constraint (4)",
            "−(S−1)e^α x + y ≤ −1",
            "−(S−1)e^α x − y ≤ −1",
            "x = y = v_−α",
            -n * a * v + v + 1,
            -n * a * v - v + 1,
        ),
        Refutation(
            "Proof of Proposition 2, the line after it",
            "q₃ ≤ 1 − (S−1)e^α q₂",
            "q₃ ≥ 1 − (S−1)e^α q₂",
            "q₂ = 1/S, q₃ = 1/S",
            Fraction(1, S) - (1 - n * a * Fraction(1, S)),
            (1 - n * a * Fraction(1, S)) - Fraction(1, S),
        ),
        Refutation(
            "Proof of Proposition 2, (7) and (8)",
            "y − e^{2α} x ≥ 1",
            "y ≤ e^{2α} x",
            "x = y = v_−α",
            1 - (v - a * a * v),
            v - a * a * v,
        ),
    )


def outside_interval() -> Outside:
    q = SEX_KEEP[-1]
    certificate = certify(keep_probabilities([q, q]))
    return Outside(
        q=q,
        alpha=SEX_ALPHA,
        certified=certificate.alpha,
        satisfies=certificate.satisfies(SEX_ALPHA),
        end=1 / (1 + math.exp(-SEX_ALPHA)),
    )


def tables(data: Errata) -> tuple[Table, ...]:
    inequalities = Table(
        "errata-inequalities",
        "Misprinted inequalities at a private point (S = 4, e^α = 3/2). An inequality holds where "
        "left minus right is at most 0; both columns are exact.",
        headings("where:text | printed:text | at:text | excess | correct:text | excess"),
        fields(data.refutations, "place printed point excess correct corrected_excess"),
    )
    counts = Table(
        "errata-vertices",
        "All vertices of the feasible set by exact enumeration, beside the list of Proposition 2. "
        "Quadruples: different largest two and smallest two entries, which determine a vertex up "
        "to who gets which.",
        headings(
            "S | e^α | α:.4f | place:text | vertices | up to order | quadruples | "
            "largest q_k/q_l over e^2α | not in the list | list is right"
        ),
        tuple(
            (e.S, f"{float(e.a):.6g}", math.log(e.a), e.place, e.vertices, e.kinds, e.quadruples,
             e.largest_ratio / e.a**2, e.missing, "yes" if e.agrees else "no")
            for e in data.enumerations
        ),
    )  # fmt: skip
    return inequalities, counts
