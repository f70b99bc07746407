r"""Exact discrete Laplace noise for the counts of private priors.

Noise is sampled exactly: integers and random bits of the system, no floats. The method is that of
Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy", algorithms 1
and 2. A Bernoulli variable of probability :math:`e^{-\gamma}` with rational
:math:`\gamma` comes from von Neumann's alternating series, and the noise from it by rejection.
"""

import secrets
from collections.abc import Callable
from fractions import Fraction

from pramble.errors import InvalidInput

# A function that gives a uniform integer in ``range(n)``.
RandBelow = Callable[[int], int]


def bernoulli_exp(gamma: Fraction, randbelow: RandBelow = secrets.randbelow) -> bool:
    r"""Return True with probability exactly :math:`e^{-\gamma}`, for rational :math:`\gamma \ge 0`.

    For :math:`\gamma \le 1` let :math:`A_k` be independent with :math:`P(A_k = 1) = \gamma/k` and
    :math:`K` the first :math:`k` with :math:`A_k = 0`; then
    :math:`P(K > k) = \gamma^k / k!` and
    :math:`P(K \text{ odd}) = \sum_k (-\gamma)^k / k! = e^{-\gamma}`.

    >>> bernoulli_exp(Fraction(0))
    True
    """
    while gamma > 1:
        if not bernoulli_exp(Fraction(1), randbelow):
            return False
        gamma -= 1
    k = 1
    while randbelow(gamma.denominator * k) < gamma.numerator:
        k += 1
    return k % 2 == 1


def discrete_laplace(rate: Fraction, randbelow: RandBelow = secrets.randbelow) -> int:
    r"""Return an integer :math:`x` with probability proportional to :math:`e^{-\text{rate}\,|x|}`.

    Write the rate as :math:`s/t`. :math:`U` uniform below :math:`t`, kept with probability
    :math:`e^{-U/t}`, plus :math:`t` times a geometric number, is geometric with ratio
    :math:`e^{-1/t}`; its quotient by :math:`s` is geometric with ratio :math:`e^{-s/t}`. A random
    sign, with "minus zero" drawn again, gives the two-sided distribution.

    The rate is ε divided by the sensitivity; ``randbelow`` is the system's secure generator.

    Examples
    --------
    >>> isinstance(discrete_laplace(Fraction(1, 3)), int)
    True
    """
    if rate <= 0:
        raise InvalidInput(f"The rate of discrete Laplace noise must be positive; found {rate}.")
    s, t = rate.numerator, rate.denominator
    while True:
        below = randbelow(t)
        if not bernoulli_exp(Fraction(below, t), randbelow):
            continue
        above = 0
        while bernoulli_exp(Fraction(1), randbelow):
            above += 1
        size = (below + t * above) // s
        negative = randbelow(2) == 1
        # Zero would have twice its probability if both signs of it counted.
        if not (negative and size == 0):
            return -size if negative else size


def noisy_histogram(
    counts: list[int], epsilon: Fraction, *, randbelow: RandBelow = secrets.randbelow
) -> list[int]:
    r"""Return the counts plus independent discrete Laplace noise, ε-differentially private.

    Neighbouring files differ in one record's value, as in the paper: one count goes down by one
    and another up by one, so the :math:`\ell_1` sensitivity is 2 and the noise has rate
    :math:`\varepsilon/2`. (Were neighbours to differ by a record added or removed, the sensitivity
    would be 1 and the same noise would spend ε/2; the number of rows would then be secret too.)

    Examples
    --------
    >>> len(noisy_histogram([10, 0, 5], Fraction(1, 50)))
    3
    """
    rate = Fraction(epsilon) / 2
    return [int(count) + discrete_laplace(rate, randbelow) for count in counts]
