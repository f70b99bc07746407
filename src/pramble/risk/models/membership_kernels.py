"""Compiled inner loops of the grade of membership sampler."""

from typing import Any

import numpy as np

from pramble.compiled import compiled


@compiled
def _pick(weights: Any, u: float) -> int:
    """Return an index with probability proportional to its weight."""
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
def reassign(
    codes: Any, z: Any, alpha: Any, levels: Any, uniforms: Any, uses: Any, spread: Any
) -> None:
    """Redraw every ``z[i, j]`` given the others of its record, the memberships integrated out.

    ``levels[j, x, k]`` is the probability of level x in profile k. Adds to ``uses[j, x, k]``, how
    often profile k gave level x, and to ``spread[k, c]``, how many records use profile k c times.
    """
    records, columns = codes.shape
    profiles = len(alpha)
    held = np.zeros(profiles, np.int64)
    weights = np.zeros(profiles)
    for i in range(records):
        held[:] = 0
        for j in range(columns):
            held[z[i, j]] += 1
        for j in range(columns):
            x = codes[i, j]
            held[z[i, j]] -= 1
            for k in range(profiles):
                weights[k] = (alpha[k] + held[k]) * levels[j, x, k]
            new = _pick(weights, uniforms[i, j])
            z[i, j] = new
            held[new] += 1
            uses[j, x, new] += 1
        for k in range(profiles):
            spread[k, held[k]] += 1


@compiled
def simulate(alpha: Any, levels: Any, uniforms: Any, codes: Any, z: Any) -> None:
    """Draw whole records from the model: profiles by a Pólya urn, then levels."""
    records, columns = codes.shape
    profiles = len(alpha)
    held = np.zeros(profiles, np.int64)
    weights = np.zeros(profiles)
    for i in range(records):
        held[:] = 0
        for j in range(columns):
            for k in range(profiles):
                weights[k] = alpha[k] + held[k]
            new = _pick(weights, uniforms[i, j])
            held[new] += 1
            z[i, j] = new
            codes[i, j] = _pick(levels[j, :, new], uniforms[i, columns + j])


@compiled
def is_barred(record: Any, masks: Any) -> bool:
    """Whether any rule holds: ``masks[r, j, x]`` allows level x of column j to fulfil rule r."""
    for r in range(masks.shape[0]):
        held = True
        for j in range(len(record)):
            if not masks[r, j, record[j]]:
                held = False
                break
        if held:
            return True
    return False


@compiled
def add_barred(codes: Any, z: Any, masks: Any, wanted: int, uses: Any, spread: Any) -> Any:
    """Go through drawn records until ``wanted`` are possible; count in the impossible ones.

    Returns how many records were gone through, and how many of them were possible.
    """
    records, columns = codes.shape
    held = np.zeros(spread.shape[0], np.int64)
    possible = 0
    for i in range(records):
        if possible == wanted:
            return i, possible
        if not is_barred(codes[i], masks):
            possible += 1
            continue
        held[:] = 0
        for j in range(columns):
            uses[j, codes[i, j], z[i, j]] += 1
            held[z[i, j]] += 1
        for k in range(len(held)):
            spread[k, held[k]] += 1
    return records, possible


@compiled
def mixture_probabilities(cells: Any, tables: Any, weights: Any, out: Any) -> None:
    """Fill ``out`` with the weighted sum over components of the product of their level tables.

    ``tables[j, x, m]`` is the probability of level x of column j in component m.
    """
    columns = cells.shape[1]
    components = tables.shape[2]
    product = np.empty(components)
    for i in range(len(cells)):
        for m in range(components):
            product[m] = weights[m]
        for j in range(columns):
            x = cells[i, j]
            for m in range(components):
                product[m] *= tables[j, x, m]
        total = 0.0
        for m in range(components):
            total += product[m]
        out[i] = total


@compiled
def log_density(alpha: Any, spread: Any) -> Any:
    """Return the log posterior density of α0 ξ given how often records use each profile."""
    profiles, width = spread.shape
    records = 0.0
    for c in range(width):
        records += spread[0, c]
    total = 0.0
    value = 0.0
    for k in range(profiles):
        total += alpha[k]
        rising = 0.0
        for c in range(1, width):
            rising += np.log(alpha[k] + c - 1)
            value += spread[k, c] * rising
    for c in range(width - 1):
        value -= records * np.log(total + c)
    return value - total - (profiles - 1) * np.log(total)


@compiled
def move_alpha(alpha: Any, spread: Any, steps: Any, log_uniforms: Any) -> None:
    """Metropolis steps on the logarithm of each entry of α0 ξ, in place."""
    now = log_density(alpha, spread)
    for move in range(steps.shape[0]):
        for k in range(len(alpha)):
            old = alpha[k]
            alpha[k] = old * np.exp(steps[move, k])
            then = log_density(alpha, spread)
            if log_uniforms[move, k] < then - now + steps[move, k]:
                now = then
            else:
                alpha[k] = old
