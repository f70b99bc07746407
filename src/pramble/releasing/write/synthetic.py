"""Complete records beside the data of a release, drawn from what was released alone."""

import hashlib
from pathlib import Path
from typing import Any

from pramble.data.save import save_table
from pramble.estimation.draws.synthesis import synthesis
from pramble.mechanisms.plan import Plan
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
    plan: Plan,
    *,
    sha256: str,
    clock: Clock,
) -> dict[str, Any]:
    """Write synthetic records from released ones, and return what the manifest says of them.

    The seed follows from the ``sha256`` of the data file, so that every reader can draw the same.
    """
    seed = int(hashlib.sha256(sha256.encode()).hexdigest()[:12], 16)
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
