"""Categories that a mechanism releases as themselves least often of all."""

import numpy as np

from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Floats, Integers

MOST_SEARCHED = 2000
NAMED = 4


def turned(mechanism: Mechanism) -> Integers:
    """Return the categories that are released as any other value likelier than as themselves."""
    S, T = mechanism.shape
    if S < 3 or mechanism.outputs != mechanism.categories:
        return np.array([], dtype=np.int64)
    stays = mechanism.operator.stay()
    if isinstance(mechanism, UniformRows):
        return np.flatnonzero(stays < (1 - stays) / (T - 1) * (1 - 1e-9))
    if S > MOST_SEARCHED:
        return np.array([], dtype=np.int64)
    others = mechanism.matrix + np.diag(np.full(S, np.inf))
    return np.flatnonzero(stays < others.min(axis=1) * (1 - 1e-9))


def turned_note(mechanism: Mechanism) -> tuple[str, ...]:
    """Say which categories are released as themselves least often, and what that means."""
    found = turned(mechanism)
    if not len(found):
        return ()
    stays: Floats = mechanism.operator.stay()
    worst = int(found[np.argmin(stays[found])])
    labels = mechanism.labels.values
    names = ", ".join(repr(labels[x]) for x in found[:NAMED].tolist())
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    other = (1 - stays[worst]) / (len(labels) - 1)
    return (
        (
            f"{names}{more} of the {len(labels)} categories are released as themselves less often "
            f"than as any other value ({labels[worst]!r}: {stays[worst]:.1%} as itself, each other "
            f"{other:.1%} on average): such a release tells most by what it is not, and counted at "
            'face value it misleads. Take objective="estimation", or keep_at_least.'
        ),
    )
