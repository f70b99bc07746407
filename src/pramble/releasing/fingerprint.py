r"""The fingerprint of what is randomised: it tells two files apart, wherever their rows are.

Let :math:`v_i = \sum_c m_c\, h(x_{ic})` be a number for the values of row i in the randomised
columns, with h the first bits of a SHA-256 and m, r drawn from the secret key of a release. Then

.. math:: H = \sum_{i=1}^{n} v_i\, r^{\,n-i} \bmod p, \qquad p = 2^{61} - 1,

differs for two files, or two orders of one, but with probability at most :math:`(n + 1)/p` over the
key; two such sums, with keys of their own, make that negligible. The sum of rows that follow each
other is that of the first, times a power of r, plus that of the others: parts of a file may be
looked at anywhere and merged.

Import it where it is needed: its loops are compiled.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.compiled import compiled
from pramble.data.arrays import text_of_label
from pramble.data.labels import Label
from pramble.engine.keystream import derived_key

PRIME = 2**61 - 1
LANES = ("one", "two")
MODULUS = np.uint64(PRIME)
LOW_32, LOW_29 = np.uint64(2**32 - 1), np.uint64(2**29 - 1)
B3, B29, B32, B61 = (np.uint64(bits) for bits in (3, 29, 32, 61))


class Fingerprint:
    """Sums up the rows of some columns: a job for a scan, after the jobs that code the columns.

    ``sums`` are the two numbers H; ``rows`` says how many rows they are of.
    """

    def __init__(self, jobs: Mapping[str, Any], secret: bytes) -> None:
        self.columns: list[str] = []
        # Where jobs are done on other machines, only a key of the fingerprint's own goes there.
        self.jobs, self.own_key = jobs, derived_key(secret, "fingerprint")
        self.rows, self.sums = 0, [0] * len(LANES)
        self.known = {name: np.zeros((len(LANES), 0), dtype=np.uint64) for name in self.jobs}

    def number(self, *path: str) -> int:
        found = derived_key(self.own_key, *path)
        return int.from_bytes(found[:16], "big") % (PRIME - 2) + 2

    def add(self, batch: Any) -> None:
        numbers = np.zeros((batch.num_rows, len(LANES)), dtype=np.uint64)
        for name, job in self.jobs.items():
            add_terms(numbers, self.terms(name, job.levels.labels), job.codes)
        totals = np.array(self.sums, dtype=np.uint64)
        horner(totals, numbers, np.array(self.ratios, dtype=np.uint64))
        self.sums = totals.tolist()
        self.rows += batch.num_rows

    @property
    def ratios(self) -> list[int]:
        return [self.number(lane, "ratio") for lane in LANES]

    def terms(self, name: str, labels: Sequence[Label]) -> NDArray[np.uint64]:
        """Return what each value that a column has shown so far adds to a row, by lane."""
        weights = [self.number(lane, "column", name) for lane in LANES]
        known = self.known[name]
        fresh = [hash_of(label) for label in labels[known.shape[1] :]]
        if fresh:
            more = [[weight * one % PRIME for one in fresh] for weight in weights]
            known = self.known[name] = np.hstack([known, np.array(more, dtype=np.uint64)])
        return known

    def merge(self, later: "Fingerprint") -> None:
        # Horner: the rows before move up by as many powers of r as rows follow.
        for place, ratio in enumerate(self.ratios):
            power = pow(ratio, later.rows, PRIME)
            self.sums[place] = (self.sums[place] * power + later.sums[place]) % PRIME
        self.rows += later.rows

    def __str__(self) -> str:
        return " ".join(map(str, (self.rows, *self.sums)))


def hash_of(label: Label) -> int:
    """Return the first bits of the SHA-256 of a label as text; of a missing one, a number more."""
    text = text_of_label(label)
    if text is None:
        return 1
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(found[:8], "big") % (PRIME - 2) + 2


@compiled
def times(a: Any, b: Any) -> Any:
    r"""Return :math:`ab \bmod p` of numbers below p, by halves of 32 bits; :math:`2^{61} = 1`."""
    # A product of 61-bit numbers does not fit into 64 bits; halves of 32 bits do, and 2^61 = 1.
    a_high, a_low = a >> B32, a & LOW_32
    b_high, b_low = b >> B32, b & LOW_32
    middle = a_low * b_high + a_high * b_low
    low = a_low * b_low
    total = ((a_high * b_high) << B3) + (middle >> B29) + ((middle & LOW_29) << B32)
    total += (low & MODULUS) + (low >> B61)
    total = (total & MODULUS) + (total >> B61)
    return total - MODULUS if total >= MODULUS else total


@compiled
def add_terms(numbers: Any, terms: Any, codes: Any) -> None:
    """Add to the number of each row, in both lanes, the term of its code."""
    for i, code in enumerate(codes):
        for lane in range(2):
            total = numbers[i, lane] + terms[lane, code]
            numbers[i, lane] = total - MODULUS if total >= MODULUS else total


@compiled
def horner(totals: Any, numbers: Any, ratios: Any) -> None:
    r"""Make every total :math:`t` into :math:`t r^n + \sum_i v_i r^{n-i}`, lane by lane."""
    one, two = totals
    for i in range(len(numbers)):
        one = times(one, ratios[0]) + numbers[i, 0]
        two = times(two, ratios[1]) + numbers[i, 1]
        one = one - MODULUS if one >= MODULUS else one
        two = two - MODULUS if two >= MODULUS else two
    totals[0], totals[1] = one, two
