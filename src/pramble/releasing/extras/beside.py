"""What lies next to the evidence of a release, made from it and the plan alone."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pramble.data.save import save_table
from pramble.estimation.draws.synthesize import Synthesis, synthesis
from pramble.mechanisms.plan import Plan
from pramble.releasing.extras.copies import copy_names, write_copies
from pramble.releasing.extras.scripts import write_scripts
from pramble.releasing.folder.layout import SCRIPTS, file_entry
from pramble.releasing.folder.open import Release
from pramble.releasing.prepare import Prepared
from pramble.values import Clock

TABLES = "tables.parquet"
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
    save_table(made.frame, folder / SYNTHETIC)
    stated = file_entry(folder, SYNTHETIC, "parquet")
    facts = {"rows": made.rows, "seed": seed, "sentence": SENTENCE, "notes": list(made.notes)}
    return {**stated, **facts}, made


def published_files(job: Prepared) -> list[str]:
    """Return the paths in the folder of evidence, copies, complete records and scripts."""
    evidence = job.file.files if job.protected is None else [TABLES]
    return [*evidence, *copy_names(job), SYNTHETIC, *SCRIPTS]


def write_beside(job: Prepared, folder: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Write copies and scripts into a folder, and return what the manifest says of them."""
    found: dict[str, Any] = {}
    if job.spec.copies:
        release = Release(folder, document, job.published)
        found["copies"] = write_copies(release, job.spec.copies)
    if job.spec.scripts:
        found["scripts"] = write_scripts(job, folder)
    return found
