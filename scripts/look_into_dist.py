"""Say what wheel and sdist hold, and fail where they hold too much or too little.

``python scripts/look_into_dist.py FOLDER``
"""

import sys
import tarfile
import zipfile
from pathlib import Path

MOST = 4_000_000
NEEDED = {
    "wheel": ["pramble/py.typed", "pramble/resources/manifest.schema.json"],
    "sdist": ["README.md", "LICENSE", "Makefile", "src/pramble/__init__.py", "tests/conftest.py"],
}
UNWANTED = ("docs/_build/", "docs/examples/", "docs/generated/", ".venv/", "__pycache__", ".ipynb")


def names(path: Path) -> list[str]:
    """Names inside, without the folder that an sdist has around them."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.namelist()
    with tarfile.open(path) as sdist:
        return [name.partition("/")[2] for name in sdist.getnames()]


if __name__ == "__main__":
    found = {path.suffix: path for path in Path(sys.argv[1]).iterdir() if path.name != ".gitignore"}
    for kind, path in {"wheel": found[".whl"], "sdist": found[".gz"]}.items():
        inside, size = names(path), path.stat().st_size
        missing = [name for name in NEEDED[kind] if name not in inside]
        unwanted = [name for name in inside if any(part in name for part in UNWANTED)]
        print(f"{path.name}: {len(inside)} files, {size / 1000:,.0f} kB", file=sys.stderr)
        if missing or unwanted or size > MOST:
            sys.exit(
                f"{path.name}: missing {missing}, unwanted {unwanted[:5]}, at most {MOST} bytes"
            )
