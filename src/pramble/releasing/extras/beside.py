"""What lies next to the evidence of a release, made from it and the plan alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pramble.releasing.extras.copies import copy_names, write_copies
from pramble.releasing.extras.scripts import write_scripts
from pramble.releasing.extras.synthetic import SYNTHETIC
from pramble.releasing.folder.layout import SCRIPTS
from pramble.releasing.folder.open import Release
from pramble.releasing.prepare import Prepared

TABLES = "tables.parquet"


def published_files(job: Prepared) -> list[str]:
    """Return the paths in the folder of evidence, copies, complete records and scripts."""
    evidence = job.file.files if not job.spec.of_tables else [TABLES]
    return [*evidence, *copy_names(job), SYNTHETIC, *SCRIPTS]


def write_beside(job: Prepared, folder: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Write copies and scripts into a folder, and return what the manifest says of them."""
    found: dict[str, Any] = {}
    if job.spec.copies:
        release = Release(folder, document, job.design.plan)
        found["copies"] = write_copies(release, job.spec.copies)
    if job.spec.scripts:
        found["scripts"] = write_scripts(job, folder)
    return found
