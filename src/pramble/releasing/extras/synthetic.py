"""Complete records beside the data of a release, drawn from what was released alone."""

import hashlib
from pathlib import Path
from typing import Any

from pramble.data.save import save_table
from pramble.estimation.draws.synthesize import Synthesis, synthesis
from pramble.mechanisms.plan import Plan
from pramble.releasing.folder.layout import file_sha256
from pramble.values import Clock

SYNTHETIC = "synthetic.parquet"
SENTENCE = (
    "Complete records whose tables fit the release, drawn from it alone: they reveal nothing "
    "beyond it. They do not show their own errors; estimates and intervals come from the evidence "
    "in the release."
)


def write_synthetic(
    folder: Path,
    evidence: Any,
    plan: Plan | None = None,
    *,
    possible: Any = None,
    sha256: str,
    clock: Clock,
) -> tuple[dict[str, Any], Synthesis]:
    """Write complete records from what was released; return what the manifest says, and their fit.

    The seed follows from the ``sha256`` of the evidence, so that every reader can draw the same.
    """
    seed = int(hashlib.sha256(sha256.encode()).hexdigest()[:12], 16)
    made = synthesis(
        evidence,
        plan,
        seed=seed,
        possible=possible,
        progress=lambda done: clock.tell(done.what, done.share),
    )
    path = folder / SYNTHETIC
    save_table(made.frame, path)
    stated = {
        "file": SYNTHETIC,
        "format": "parquet",
        "bytes": path.stat().st_size,
        "sha256": file_sha256(path),
        "rows": made.rows,
        "seed": seed,
        "sentence": SENTENCE,
        "notes": list(made.notes),
    }
    return stated, made
