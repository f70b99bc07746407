"""What lies beside the data of a release, made from it and the plan alone."""

from typing import Any

from pramble.releasing.copies.write import copy_names, write_copies
from pramble.releasing.folder.files import SCRIPTS
from pramble.releasing.folder.opening import Release
from pramble.releasing.prepare.prepare import Prepared
from pramble.releasing.write.scripts import write_scripts
from pramble.releasing.write.synthetic import SYNTHETIC


def published_files(job: Prepared) -> list[str]:
    """Return the paths in the folder of data, copies, synthetic records and scripts."""
    return [*job.file.files, *copy_names(job), SYNTHETIC, *SCRIPTS]


def write_beside(job: Prepared, release: Release) -> dict[str, Any]:
    """Write copies and scripts into a folder, and return what the manifest says of them."""
    found: dict[str, Any] = {}
    if job.decisions.copies:
        found["copies"] = write_copies(release, job.decisions.copies)
    if job.decisions.scripts and release.folder is not None:
        found["scripts"] = write_scripts(job, release.folder)
    return found
