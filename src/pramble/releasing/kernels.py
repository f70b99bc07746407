"""Arithmetic modulo :math:`p = 2^{61} - 1`; import it where it is needed."""

from typing import Any

import numpy as np

from pramble.compiled import compiled

PRIME = np.uint64(2**61 - 1)
LOW_32, LOW_29 = np.uint64(2**32 - 1), np.uint64(2**29 - 1)
B3, B29, B32, B61 = (np.uint64(bits) for bits in (3, 29, 32, 61))


@compiled
def times(a: Any, b: Any) -> Any:
    r"""Return :math:`ab \bmod p` of numbers below p, by halves of 32 bits; :math:`2^{61} = 1`."""
    # A product of 61-bit numbers does not fit into 64 bits; halves of 32 bits do, and 2^61 = 1.
    a_high, a_low = a >> B32, a & LOW_32
    b_high, b_low = b >> B32, b & LOW_32
    middle = a_low * b_high + a_high * b_low
    low = a_low * b_low
    total = ((a_high * b_high) << B3) + (middle >> B29) + ((middle & LOW_29) << B32)
    total += (low & PRIME) + (low >> B61)
    total = (total & PRIME) + (total >> B61)
    return total - PRIME if total >= PRIME else total


@compiled
def add_terms(numbers: Any, terms: Any, codes: Any) -> None:
    """Add to the number of each row, in both lanes, the term of its code."""
    for i, code in enumerate(codes):
        for lane in range(2):
            total = numbers[i, lane] + terms[lane, code]
            numbers[i, lane] = total - PRIME if total >= PRIME else total


@compiled
def horner(totals: Any, numbers: Any, ratios: Any) -> None:
    r"""Make every total :math:`t` into :math:`t r^n + \sum_i v_i r^{n-i}`, lane by lane."""
    one, two = totals
    for i in range(len(numbers)):
        one = times(one, ratios[0]) + numbers[i, 0]
        two = times(two, ratios[1]) + numbers[i, 1]
        one = one - PRIME if one >= PRIME else one
        two = two - PRIME if two >= PRIME else two
    totals[0], totals[1] = one, two
