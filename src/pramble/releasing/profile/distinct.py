"""The distinct values of a column, told apart: numbers, dates, texts, marks of missing ones."""

import re
from collections.abc import Sequence
from decimal import Decimal

from pramble.data.formats.dialect import MARKERS
from pramble.data.labels import Label
from pramble.data.order import typed_texts

TIME = r"([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
DAY, MONTH, YEAR = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])", r"(1[89]|20)\d{2}"
DATE = re.compile(
    rf"({YEAR}([-/.]){MONTH}\3{DAY}|{DAY}([-/.]){MONTH}\7(\d{{2}}|{YEAR})"
    rf"|{MONTH}/{DAY}/(\d{{2}}|{YEAR})){TIME}"
)
PACKED_DATE = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
POINT = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
COMMA = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
ZEROS = re.compile(r"0\d+")


class Distinct:
    """What the distinct values of a column are.

    Attributes
    ----------
    labels : list
        What can be categories: texts of a file without types are what they stand for.
    numbers : list of float, or None
        Where all are numbers.
    marks : tuple of str
        Texts beside numbers that can only mean a missing value.
    """

    def __init__(self, labels: Sequence[Label], *, typed: bool, decimal: str = ".") -> None:
        number = COMMA if decimal == "," else POINT
        self.trim = any(isinstance(label, str) and label != label.strip() for label in labels)
        if self.trim:
            bare = (label.strip() if isinstance(label, str) else label for label in labels)
            labels = list(dict.fromkeys(bare))
        self.marks: tuple[str, ...] = ("",) if "" in labels else ()
        labels = [label for label in labels if label != ""]
        texts = [label for label in labels if isinstance(label, str)]
        self.are_texts = len(texts) == len(labels) > 0
        self.numbers: list[float] | None = None
        if self.are_texts:
            figures = [text for text in texts if number.fullmatch(text)]
            others = [text for text in texts if not number.fullmatch(text)]
            if figures and all(text in MARKERS for text in others):
                self.marks += tuple(sorted(others))
                labels = texts = figures
                if not any(ZEROS.fullmatch(text) for text in texts):
                    self.numbers = [float(text.replace(",", ".")) for text in texts]
        elif labels and all(is_quantity(label) for label in labels):
            self.numbers = [float(label) for label in labels]
        self.texts = texts
        self.labels = labels if typed else typed_texts(labels)

    @property
    def are_dates(self) -> bool:
        """Whether they are dates as people write them, or eight digits that are dates."""
        written = [label for label in self.texts if label not in MARKERS]
        if written and all(DATE.fullmatch(text) for text in written):
            return True
        digits = [str(label) for label in self.labels] if self.are_whole else []
        return len(digits) > 2 and all(PACKED_DATE.fullmatch(one) for one in digits)

    @property
    def are_whole(self) -> bool:
        """Whether all are whole numbers, each written in one way."""
        if not self.numbers or all(isinstance(label, int) for label in self.labels):
            return bool(self.numbers)
        once = len(set(self.numbers)) == len(self.labels)
        return once and all(number.is_integer() for number in self.numbers)

    @property
    def look_serial(self) -> bool:
        """Whether whole numbers look given out: they run through, or have the same many digits."""
        numbers = self.numbers or [0.0]
        least, most = min(numbers), max(numbers)
        digits = {len(f"{abs(one):.0f}") for one in numbers}
        return most - least < 2 * len(numbers) or (len(digits) == 1 and most >= 1000)


def is_quantity(label: Label) -> bool:
    """Whether a value is a number, which a truth value is not."""
    return isinstance(label, int | float | Decimal) and not isinstance(label, bool)
