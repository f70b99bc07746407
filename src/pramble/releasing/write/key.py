"""The key that a release draws with: bound to its file and its plan."""

import json

from pramble.engine.keystream import checked_key, derived_key
from pramble.mechanisms.plan import Plan


def bound_key(key: bytes, digest: str, *, plan: Plan) -> bytes:
    r"""Return a key of its own for one content of the source and one plan.

    Two releases that shared their random bits would not add up to :math:`\alpha_1 + \alpha_2`:
    with another matrix, or another record in the same row, a pair of released values can be
    impossible under one true value and possible under the next. A private prior is drawn anew at
    every run, so the same call may well have another matrix. Bits of a bound key agree only where
    file and plan agree, and then the two releases are one.

    Parameters
    ----------
    key : bytes
        32 secret bytes.
    digest : str
        Of the confidential content.
    plan : Plan

    Returns
    -------
    bytes
    """
    return derived_key(
        checked_key(key), "release", digest, json.dumps(plan.to_json(), sort_keys=True)
    )
