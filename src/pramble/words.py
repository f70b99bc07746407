"""Words that go with numbers, for every area."""


def several(number: int, what: str) -> str:
    """Return how many there are of something.

    >>> several(1, "view"), several(12_000, "row"), several(2, "branch")
    ('1 view', '12,000 rows', '2 branches')
    """
    ending = "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}" + ("" if number == 1 else ending)
