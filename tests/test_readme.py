"""Every example of the README runs, in order, in an empty folder."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert blocks("python")
    namespace: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), namespace)


def test_the_two_commands_are_make_targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^make ([a-z-]+)", "\n".join(blocks("sh")), flags=re.MULTILINE):
        assert f"\n{command}:" in makefile, command


@pytest.mark.parametrize(
    "file",
    [
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "LICENSE",
        "SECURITY.md",
        "constraints.txt",
    ],
)
def test_files_a_reader_expects(file):
    assert (ROOT / file).exists()


PACKAGES = ["constraints.txt", "product.txt"]


@pytest.mark.parametrize("file", PACKAGES)
def test_lists_of_packages_name_no_addresses(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert "://" not in text
    lines = [line.strip() for line in text.splitlines() if not line.startswith("#")]
    assert all("==" in line or line.startswith("--hash=sha256:") for line in lines)


@pytest.mark.parametrize("file", PACKAGES)
def test_every_package_has_hashes(file):
    text = (ROOT / file).read_text(encoding="utf-8").replace("\\\n", "")
    assert all("--hash=sha256:" in line for line in text.splitlines())


def test_the_product_is_a_part_of_everything():
    """The demonstration has the versions that are tested, and nothing that only tests need."""
    everything, product = (
        {
            line.split(" ")[0]
            for line in (ROOT / file).read_text("utf-8").splitlines()
            if "==" in line
        }
        for file in PACKAGES
    )
    assert product < everything
    assert not {line.split("==")[0] for line in product} & {"pyspark", "playwright", "pytest"}


def test_every_file_that_the_readme_names_is_there_and_its_picture_is_small():
    named = re.findall(r"\]\(([^)]+)\)", README)
    assert "docs/_static/first.png" in named
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert (ROOT / "docs/_static/first.png").stat().st_size < 150_000


def test_the_version_is_said_in_one_place_and_repeated_rightly():
    import pramble

    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {pramble.__version__}\n" in cited
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert changes.count("\n## [Unreleased]\n") == 1
