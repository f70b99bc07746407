"""Every notion of privacy by its name, and how their documents are read."""

from collections.abc import Mapping
from typing import Any

from pramble.errors import InvalidData
from pramble.privacy.central_privacy import CentralPrivacy
from pramble.privacy.guarantee import Guarantee, RecordPrivacy

NOTIONS: dict[str, Any] = {"record": RecordPrivacy, "central": CentralPrivacy}
"""A new notion is a class in its own file and a line here."""


def guarantee_from_json(document: Any) -> Guarantee:
    """Return the guarantee of a document; refuse a notion that is not known."""
    notion = document.get("notion") if isinstance(document, Mapping) else None
    if notion not in NOTIONS:
        raise InvalidData(f"A guarantee is of one of {', '.join(NOTIONS)}; found {notion!r}.")
    found: Guarantee = NOTIONS[notion].from_json(document)
    return found
