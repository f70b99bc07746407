"""Fonts for scripts that the house font does not have, where the machine has them."""

from functools import cache

HOUSE = "DejaVu Sans"
OTHERS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "IPAGothic", "IPAexGothic",
    "Hiragino Sans", "Yu Gothic", "Microsoft YaHei", "PingFang SC", "WenQuanYi Micro Hei",
    "Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Bengali", "Nirmala UI", "Arial Unicode MS",
)  # fmt: skip


@cache
def families() -> list[str]:
    """Return the house font, and those of the others that this machine has."""
    from matplotlib.font_manager import fontManager

    known = set(fontManager.get_font_names())
    return [HOUSE, *(name for name in OTHERS if name in known)]


@cache
def house_letters() -> frozenset[int]:
    """Return the characters that the house font has."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(HOUSE)).get_charmap())


def is_foreign(text: str) -> bool:
    """Whether the house font lacks some character of a text.

    >>> is_foreign("Größe, α"), is_foreign("東京")
    (False, True)
    """
    return any(ord(letter) not in house_letters() for letter in text if letter.isprintable())
