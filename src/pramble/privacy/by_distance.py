"""A promise by distance in plain words."""

from pramble.mechanisms.distance import Distance


def distance_sentence(distance: Distance, alpha: float) -> str:
    """Say how well values are hidden that are near to each other, and those farthest apart.

    >>> print(distance_sentence(Distance.path(9), 0.25))
    Values 1 step apart are hidden from each other as well as at α = 0.25, values 2 steps apart as
    well as at α = 0.5, and the two that are farthest apart (8 steps) as well as at α = 2.
    """
    near = distance.matrix[distance.matrix > 0].min()
    levels = [near, 2 * near] if 2 * near < distance.diameter else [near]
    said = [
        f"values {length(distance, level)} apart "
        + ("are hidden from each other as well as" if level == near else "as well as")
        + f" at α = {alpha * level:.3g}"
        for level in levels
    ]
    if near == distance.diameter:
        return sentence(f"any two {said[0]}")
    farthest = length(distance, distance.diameter)
    said.append(
        f"and the two that are farthest apart ({farthest}) as well as at "
        f"α = {alpha * distance.diameter:.3g}"
    )
    return sentence(", ".join(said))


def length(distance: Distance, level: float) -> str:
    """Return a length with its unit."""
    plural = "" if level == 1 or distance.unit == "km" else "s"
    return f"{level:.3g} {distance.unit}{plural}"


def sentence(text: str) -> str:
    """Return a text as a sentence, wrapped like others."""
    return f"{text[0].upper()}{text[1:]}."
