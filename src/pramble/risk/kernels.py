"""Compiled inner loops; numba is slow to load, so they are imported where they are called."""

from typing import Any

import numpy as np

from pramble.compiled import compiled


@compiled
def _pick(weights: Any, u: float) -> int:
    total = 0.0
    for k in range(len(weights)):
        total += weights[k]
    left = u * total
    for k in range(len(weights) - 1):
        left -= weights[k]
        if left < 0.0:
            return k
    return len(weights) - 1


@compiled
def _count(j: int, x: int, k: int, by: float, tally: Any) -> None:
    """Count a use of profile k for level x of column j, or with ``by`` −1 take one away.

    A tally is ``uses[j, x, k]``, how often profile k gave level x of column j; ``priors[j]``, the
    pseudo-count of each level; and ``scales[j, k]``, one over all uses and pseudo-counts.
    """
    uses, _, scales = tally
    uses[j, x, k] += by
    scales[j, k] = 1.0 / (1.0 / scales[j, k] + by)


@compiled
def reassign(codes: Any, z: Any, alpha: Any, uniforms: Any, tally: Any, spread: Any) -> None:
    """Redraw every ``z[i, j]`` given all others; memberships and levels are integrated out.

    Keeps the tally up to date, and adds to ``spread[k, c]`` how many records use profile k c times.
    """
    records, columns = codes.shape
    uses, priors, scales = tally
    profiles = len(alpha)
    held = np.zeros(profiles, np.int64)
    weights = np.zeros(profiles)
    for i in range(records):
        held[:] = 0
        for j in range(columns):
            held[z[i, j]] += 1
        for j in range(columns):
            x, old = codes[i, j], z[i, j]
            held[old] -= 1
            _count(j, x, old, -1.0, tally)
            for k in range(profiles):
                weights[k] = (alpha[k] + held[k]) * (priors[j] + uses[j, x, k]) * scales[j, k]
            new = _pick(weights, uniforms[i, j])
            z[i, j] = new
            held[new] += 1
            _count(j, x, new, 1.0, tally)
        for k in range(profiles):
            spread[k, held[k]] += 1


@compiled
def regroup(codes: Any, z: Any, alpha: Any, uniforms: Any, tally: Any) -> None:
    """Redraw, in each record, the profile that some of its columns share, all of them at once.

    Which columns share one is kept, and the profiles of its other groups are barred, so this is a
    Gibbs step. Where memberships are nearly whole, profiles of single values hardly ever move; this
    moves records. A record whose profiles are −1 enters with one profile for all its columns.
    """
    records, columns = codes.shape
    uses, priors, scales = tally
    profiles = len(alpha)
    held = np.zeros(profiles, np.int64)
    weights = np.zeros(profiles)
    for i in range(records):
        held[:] = 0
        for j in range(columns):
            if z[i, j] >= 0:
                held[z[i, j]] += 1
        done = np.zeros(columns, np.bool_)
        for first in range(columns):
            if done[first]:
                continue
            old = z[i, first]
            if old >= 0:
                held[old] = 0
            for k in range(profiles):
                weights[k] = 1.0 if held[k] == 0 else 0.0
            size = 0
            for j in range(first, columns):
                if z[i, j] != old or done[j]:
                    continue
                x = codes[i, j]
                if old >= 0:
                    _count(j, x, old, -1.0, tally)
                for k in range(profiles):
                    weights[k] *= (alpha[k] + size) * (priors[j] + uses[j, x, k]) * scales[j, k]
                size += 1
            new = _pick(weights, uniforms[i, first])
            for j in range(first, columns):
                if z[i, j] == old and not done[j]:
                    z[i, j] = new
                    done[j] = True
                    _count(j, codes[i, j], new, 1.0, tally)
            held[new] = size


@compiled
def exact_probabilities(cells: Any, alpha: Any, levels: Any, out: Any) -> None:
    r"""Fill ``out`` with the probabilities of cells, exactly, in :math:`3^d` steps per profile.

    With independent gamma variables in place of memberships, the expected product over columns sums
    over all ways to share the columns out among the profiles:
    :math:`(f_1 * \dots * f_K)(\text{all}) / \alpha_0^{(d)}`, where * is the convolution over
    subsets and :math:`f_k(S) = \alpha_k^{(|S|)} \prod_{j\in S} \lambda_{jk}`, rising factorials.
    """
    columns, profiles = cells.shape[1], len(alpha)
    full = (1 << columns) - 1
    rising = 1.0
    for c in range(columns):
        rising *= alpha.sum() + c
    sums, own, size = np.zeros(full + 1), np.zeros(full + 1), np.zeros(full + 1, np.int64)
    for i in range(len(cells)):
        sums[:] = 0.0
        sums[0] = 1.0
        own[0] = 1.0
        for k in range(profiles):
            for j in range(columns):
                chance = levels[j, cells[i, j], k]
                for rest in range(1 << j):
                    part = rest | (1 << j)
                    size[part] = size[rest] + 1
                    own[part] = own[rest] * chance * (alpha[k] + size[rest])
            for whole in range(full, 0, -1):
                total = sums[whole]
                part = whole
                while part:
                    total += sums[whole ^ part] * own[part]
                    part = (part - 1) & whole
                sums[whole] = total
        out[i] = sums[full] / rising


@compiled
def _own_density(entry: float, row: Any) -> Any:
    """Return the part of the log posterior density of α0 ξ that belongs to one entry alone."""
    rising, value = 0.0, 0.0
    for c in range(1, len(row)):
        rising += np.log(entry + c - 1)
        value += row[c] * rising
    return value


@compiled
def _common_density(total: float, spread: Any) -> Any:
    """Return the part that belongs to the sum α0."""
    profiles, width = spread.shape
    records = 0.0
    for c in range(width):
        records += spread[0, c]
    value = -total - (profiles - 1) * np.log(total)
    for c in range(width - 1):
        value -= records * np.log(total + c)
    return value


@compiled
def move_alpha(alpha: Any, spread: Any, steps: Any, log_uniforms: Any) -> None:
    """Metropolis steps on the logarithm of each entry of α0 ξ, in place."""
    total = alpha.sum()
    common = _common_density(total, spread)
    for move in range(steps.shape[0]):
        for k in range(len(alpha)):
            new = alpha[k] * np.exp(steps[move, k])
            then = _common_density(total + new - alpha[k], spread)
            change = (
                then - common + _own_density(new, spread[k]) - _own_density(alpha[k], spread[k])
            )
            if log_uniforms[move, k] < change + steps[move, k]:
                total, common = total + new - alpha[k], then
                alpha[k] = new


@compiled
def chance_missed(codes: Any, counts: Any, bounds: Any, laws: Any, missed: Any) -> None:
    """Fill ``missed[j]`` with the product over k ≠ j in its block of ``(1 - M[k, j]) ** f[k]``.

    Rows ``bounds[b]`` to ``bounds[b + 1]`` of ``codes`` form block b; M is the product of the
    columns' matrices. ``laws`` holds, for the first columns, the probabilities of staying and of
    moving to any one other level; for the others their matrices.
    """
    stays, moves, matrices = laws
    uniform, others = len(stays), len(matrices)
    for b in range(len(bounds) - 1):
        for j in range(bounds[b], bounds[b + 1]):
            chance = 1.0
            for k in range(bounds[b], bounds[b + 1]):
                if k == j:
                    continue
                move = 1.0
                for c in range(uniform):
                    x = codes[k, c]
                    move *= stays[c, x] if x == codes[j, c] else moves[c, x]
                for c in range(others):
                    move *= matrices[c, codes[k, uniform + c], codes[j, uniform + c]]
                if counts[k] == 1:
                    chance *= 1.0 - move
                else:
                    chance *= (1.0 - move) ** counts[k]
            missed[j] = chance
