"""Figures of a claim: collected while a benchmark prints, then written for the page of benchmarks.

A file ``bench/results/CLAIM.json`` holds one run. PRAMBLE_BENCH_RESULTS names another folder.
"""

import datetime as dt
import json
import os
import platform
import sys
import time
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
BETTER = ("more", "less")


def peak_megabytes() -> float:
    """The most memory that this process has had; not that of the one which started it."""
    told = Path("/proc/self/status")
    if told.exists():
        for line in told.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1000
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def version_of(package: str) -> str | None:
    """The installed version of a package; none where it is absent."""
    peers = os.environ.get("PRAMBLE_PEERS")
    for found in metadata.distributions(
        name=package, path=[*sys.path, *([peers] if peers else [])]
    ):
        return found.version
    return None


def processor() -> str:
    """The name of the processor, as the system tells it."""
    told = Path("/proc/cpuinfo")
    if told.exists():
        for line in told.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class Claim:
    """One claim with its tables and curves.

    A table compares pramble with others case by case; ``better`` says whether more or less of its
    unit is better. A curve is a figure that grows, a line for everyone who was measured.
    """

    def __init__(self, name: str, title: str, command: str, packages: tuple[str, ...] = ()) -> None:
        self.name, self.start = name, time.perf_counter()
        self.load = round(os.getloadavg()[0], 2)
        self.told: dict = {"claim": name, "title": title, "command": command}
        self.told |= {"tables": [], "curves": [], "parts": []}
        self.packages = packages
        self.versions: dict[str, str] = {}

    def table(self, title: str, unit: str, better: str, note: str = "") -> None:
        """Begin a table."""
        if better not in BETTER:
            raise ValueError(f"better is {' or '.join(BETTER)}, not {better!r}")
        kept = {"title": title, "unit": unit, "better": better, "note": note, "rows": []}
        self.told["tables"].append(kept)

    def add(self, case: str, who: str, figure: float) -> None:
        """Add a figure to the last table."""
        row = {"case": case, "who": who, "figure": float(f"{figure:.6g}")}
        self.told["tables"][-1]["rows"].append(row)

    def curve(self, title: str, along: str, unit: str, lines: dict[str, list]) -> None:
        """Add a picture: for everyone who was measured, pairs (how large, how much)."""
        kept = {
            who: [[float(f"{x:.6g}"), float(f"{y:.6g}")] for x, y in points]
            for who, points in lines.items()
        }
        self.told["curves"].append({"title": title, "along": along, "unit": unit, "lines": kept})

    def parts(self, title: str, unit: str, found: dict[str, float]) -> None:
        """Add parts of one job, each with its cost."""
        kept = {what: float(f"{cost:.6g}") for what, cost in found.items()}
        self.told["parts"].append({"title": title, "unit": unit, "costs": kept})

    def write(self) -> Path:
        """Write what was collected, with the machine, the versions and the date."""
        versions = {"python": platform.python_version()}
        for package in ("pramble", "numpy", *self.packages):
            if found := version_of(package):
                versions[package] = found
        versions |= self.versions
        about = {
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "seconds": round(time.perf_counter() - self.start, 1),
            "machine": {
                "cores": os.cpu_count(),
                "processor": processor(),
                "system": f"{platform.system()} {platform.machine()}",
                "load": self.load,
            },
            "versions": versions,
        }
        folder = Path(os.environ.get("PRAMBLE_BENCH_RESULTS", RESULTS))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        text = json.dumps({**self.told, **about}, ensure_ascii=False, indent=1)
        path.write_text(text + "\n", encoding="utf-8")
        return path
