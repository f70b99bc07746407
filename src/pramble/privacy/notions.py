"""The notions of privacy that a manifest or ledger may state, by their names."""

from collections.abc import Mapping
from typing import Any

from pramble.errors import InvalidData
from pramble.privacy.promise import CentralPromise, LocalPromise, Promise

# A new notion is a class and a line here.
NOTIONS: dict[str, Any] = {"record": LocalPromise, "central": CentralPromise}


def promise_from_json(document: Any) -> Promise:
    notion = document.get("notion") if isinstance(document, Mapping) else None
    if notion not in NOTIONS:
        raise InvalidData(f"A promise is of one of {', '.join(NOTIONS)}; found {notion!r}.")
    found: Promise = NOTIONS[notion].from_json(document)
    return found
