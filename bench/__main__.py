"""Benchmarks: ``python -m bench`` lists them; ``python -m bench NAME`` (or ``all``) runs them."""

import importlib
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    """Every module of this folder but this one."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in found if not module.name.startswith("_"))


def main() -> None:
    """Run what the command line names."""
    asked = sys.argv[1:]
    if not asked:
        print("Benchmarks:", ", ".join(names()) or "none")
        print("Run one with: python -m bench NAME   (or all)")
    if asked[:1] == ["page"]:
        importlib.import_module("bench.page").main(tuple(asked[1:]))
        return
    every = [name for name in names() if name != "page"]
    for name in every if asked == ["all"] else asked:
        print(f"== {name}")
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
