"""Which promise is searched over: α of a record, or the central ε of a file in random order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pramble.calibration.target import Target
from pramble.errors import InvalidInput, PrivacyError

PromiseName = Literal["local", "central"]
NAMES = ("local", "central")


def promise_of(name: str, target: Target, *, rows: int) -> Callable[[float], Mapping[str, Any]]:
    """Return the function from what is tried to what :func:`~pramble.design_record` keeps."""
    if name == "local":
        return lambda tried: {"alpha": tried}
    return lambda tried: {
        "central": (tried, target.delta),
        "rows": rows,
        "rows_per_person": target.rows_per_person,
    }


def check_promise(
    name: str,
    target: Target,
    *,
    keys: Sequence[str],
    randomised: Sequence[str],
    together: bool,
) -> None:
    """Refuse a promise that is not one, or whose conditions do not hold."""
    if name not in NAMES:
        raise InvalidInput(f"promise must be one of {', '.join(NAMES)}; found {name!r}.")
    if name == "central":
        if not together:
            raise InvalidInput(
                'promise="central" takes columns=, keys to randomise together; for a column of its '
                'own find the α that keeps a central ε: measure="epsilon". Both are of records in '
                "random order; for protected tables see design_tables(...).epsilon_for(people)."
            )
        if target.delta is None:
            raise InvalidInput('promise="central" needs delta=, as 1e-6.')
        if target.measure == "epsilon":
            raise InvalidInput(
                'measure="epsilon" is met by α: promise="local". With promise="central" ε itself '
                "is searched for; give another measure."
            )
    if target.delta is not None:
        refuse_untouched(keys, randomised)


def refuse_untouched(keys: Sequence[str], randomised: Sequence[str]) -> None:
    """Refuse a central promise for a file with a column that is released as it is."""
    bare = next((key for key in keys if key not in randomised), None)
    if bare is not None:
        raise PrivacyError(
            f"Column {bare!r} would be released as it is, which ends every central promise: "
            "randomise it with the others, or leave it out of the keys and of the release."
        )
