"""Figures 5 and 6: sex in New York, at the paper's six keep probabilities and the end points."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramble.engine.perturb import perturb
from pramble.estimation.estimate import estimate
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import keep_probabilities
from pramble.paper import REPETITIONS, SEX_ALPHA, SEX_KEEP, keep_levels, new_york_2000_margins
from pramble.privacy.certificate import certify
from pramble.studies.estimates import standard_error
from pramble.studies.study import Spread, Table, headings, in_turn
from pramble.values import Floats, value


@dataclass(frozen=True)
class Config:
    """The paper's size; ``people`` is the size of the file, in its true proportions."""

    alpha: float = SEX_ALPHA
    keep: tuple[float, ...] = SEX_KEEP
    repetitions: int = REPETITIONS
    curve: int = 41
    share: float = 1.0


@value
class Panel:
    """Releases at one keep probability: estimates and estimated information of each."""

    q: float
    end_point: bool
    certified: float
    satisfies: bool
    estimates: Floats
    rmse: float
    expected: float
    information: float
    from_margins: Floats
    from_pairs: Floats


@value
class Sex:
    """All panels in order of q, and the theoretical curve over the whole interval."""

    alpha: float
    counts: tuple[int, int]
    labels: tuple[str, str]
    panels: tuple[Panel, ...]
    curve_q: Floats
    curve: Floats

    @property
    def prior(self) -> Floats:
        """The true shares."""
        return np.array(self.counts) / sum(self.counts)

    @property
    def interval(self) -> tuple[float, float]:
        """The keep probabilities that α allows."""
        return interval(self.alpha)


Case = tuple[float, bool, tuple[int, int], Config, np.random.Generator]


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Sex:
    """Release the column again and again at each keep probability."""
    margin = new_york_2000_margins()["SEX"]
    first, second = (round(count * config.share) for count in margin.values())
    low, high = interval(config.alpha)
    grid = sorted([*((q, False) for q in config.keep), (low, True), (high, True)])
    cases = [
        (q, end, (first, second), config, own)
        for (q, end), own in zip(grid, rng.spawn(len(grid)), strict=True)
    ]
    curve_q = np.linspace(low, high, config.curve)
    prior = np.array([first, second]) / (first + second)
    labels = tuple(margin)
    return Sex(
        alpha=config.alpha,
        counts=(first, second),
        labels=(labels[0], labels[1]),
        panels=tuple(each(panel, cases)),
        curve_q=curve_q,
        curve=np.array([mutual_information(prior, symmetric(q)) for q in curve_q]),
    )


def interval(alpha: float) -> tuple[float, float]:
    """Return the end points of the keep probabilities that α allows to two categories."""
    levels = keep_levels(2, alpha)
    return levels.v_minus_alpha, levels.v_alpha


def symmetric(q: float, alpha: float | None = None) -> Mechanism:
    """Return the binary mechanism that keeps either value with probability q."""
    return keep_probabilities([q, q], alpha=alpha)


def panel(case: Case) -> Panel:
    """Randomise the column, count, and estimate; as often as asked."""
    q, end, counts, config, rng = case
    mechanism = symmetric(q, config.alpha if end else None)
    prior = np.array(counts) / sum(counts)
    column = np.repeat(np.array([0, 1], dtype=np.uint8), counts)
    joint = np.array(
        [
            released_counts(column, counts[0], mechanism=mechanism, key=rng.bytes(32))
            for _ in range(config.repetitions)
        ]
    )
    margins = joint.sum(axis=1)
    estimates = np.array(
        [estimate(margin, mechanism, counts=True).probabilities for margin in margins]
    )
    certificate = certify(mechanism)
    return Panel(
        q=q,
        end_point=end,
        certified=certificate.alpha,
        satisfies=certificate.satisfies(config.alpha),
        estimates=estimates,
        rmse=float(np.sqrt(((estimates - prior) ** 2).mean())),
        expected=standard_error(prior, mechanism, n=len(column), fixed=True),
        information=mutual_information(prior, mechanism),
        from_margins=np.array([entropy(m / m.sum()) - entropy([q, 1 - q]) for m in margins]),
        from_pairs=np.array([plug_in(pairs) for pairs in joint]),
    )


def released_counts(
    column: NDArray[np.uint8], first: int, *, mechanism: Mechanism, key: bytes
) -> NDArray[np.int64]:
    """Release a sorted column once and count pairs (true value, released value)."""
    released = perturb(column, mechanism, key=key, column="SEX", threads=1)
    ones = np.array([np.count_nonzero(released[:first]), np.count_nonzero(released[first:])])
    sizes = np.array([first, len(column) - first])
    return np.column_stack([sizes - ones, ones])


def plug_in(pairs: NDArray[np.int64]) -> float:
    """Return the information in a table of counts, by the entropies of its margins and itself."""
    shares = pairs / pairs.sum()
    return entropy(shares.sum(axis=0)) + entropy(shares.sum(axis=1)) - entropy(shares.ravel())


def tables(data: Sex) -> tuple[Table, ...]:
    """Show each keep probability: whether it is private, its errors, its information."""
    return (
        Table(
            "figure-5-sex",
            f"Sex in New York, α = {data.alpha:g}: each keep probability, the smallest α that it "
            "satisfies, errors of the estimated shares, and information in nats.",
            headings(
                "q:.7f | certified α:.7f | private | RMSE of p̂:.4f | expected:.4f | "
                "information:.3e | plug-in, margins:.3e | plug-in, pairs:.3e"
            ),
            tuple(
                (
                    p.q,
                    p.certified,
                    "yes" if p.satisfies else "no",
                    p.rmse,
                    p.expected,
                    p.information,
                    float(p.from_margins.mean()),
                    float(p.from_pairs.mean()),
                )
                for p in data.panels
            ),
        ),
    )
