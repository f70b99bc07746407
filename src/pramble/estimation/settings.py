"""How to estimate, and what the intervals are about."""

from pramble.errors import InvalidInput
from pramble.estimation.result import COVERS
from pramble.values import value


@value
class Settings:
    """The choices of one estimation."""

    level: float
    covers: str
    population_size: float | None
    method: str

    def sampling_share(self, n: float) -> float:
        """Return the share of the sampling variance that counts."""
        if self.covers == "randomisation":
            return 0.0
        N = self.population_size
        if N is None:
            return 1.0
        if not max(n, 2) <= N:
            raise InvalidInput(
                f"population_size must be at least the number of records, {n:g}; found {N!r}."
            )
        return float((N - n) / (N - 1))


def as_cover(covers: str) -> str:
    """Return what intervals cover; either spelling will do."""
    name = "randomisation" if covers == "randomization" else covers
    if name not in COVERS:
        raise InvalidInput(f"covers must be one of {', '.join(COVERS)}; found {covers!r}.")
    return name
