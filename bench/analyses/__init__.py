"""Do the analyses hold? Coverage of intervals, coefficients of US adults, trained classifiers.

In the environment, ``RUNS`` sets the number of simulated releases of each coverage (120 unless
given) and scales the rest; ``PARTS`` names some of the parts; ``ONLY`` some of the quantities whose
coverage is simulated, with commas between them; ``SEED`` draws other files.
"""

import os

from bench.analyses import census, coverage, learning

PARTS = {"coverage": coverage, "census": census, "learning": learning}


def main() -> None:
    """Run the parts that the environment names, or all."""
    for name in os.environ.get("PARTS", " ".join(PARTS)).split():
        print(f"-- {name}")
        PARTS[name].main()
