"""Complete records beside the data of a release, drawn from what was released alone."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pramble.data.save import save_table
from pramble.estimation.draws.synthesis import synthesis
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.views import Views
from pramble.releasing.folder.files import file_sha256
from pramble.values import Clock

SYNTHETIC = "synthetic.parquet"
SENTENCE = (
    "Complete records whose tables of two columns fit the release, drawn from it alone: they "
    "reveal nothing beyond it. Their errors cannot be told from them; estimates and intervals come "
    "from the data."
)


def write_synthetic(
    folder: Path,
    data: Any,
    plan: Plan | Views,
    *,
    files: Sequence[Mapping[str, Any]],
    clock: Clock,
) -> dict[str, Any]:
    """Write synthetic records from released files, and return what the manifest says of them.

    The seed follows from the contents of the files, so that every reader can draw the same.
    """
    together = "".join(file["sha256"] for file in files)
    seed = int(hashlib.sha256(together.encode()).hexdigest()[:12], 16)
    made = synthesis(data, plan, seed=seed, progress=lambda told: clock.tell(told.what, told.share))
    path = folder / SYNTHETIC
    save_table(made.frame, path)
    return {
        "file": SYNTHETIC,
        "format": "parquet",
        "bytes": path.stat().st_size,
        "sha256": file_sha256(path),
        "rows": made.rows,
        "seed": seed,
        "sentence": SENTENCE,
        "notes": list(made.notes),
    }
