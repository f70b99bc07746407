"""How far people are moved: randomised response, the least loss, the most information, distances.

Areas are those of the file named by ``PRAMBLE_AREAS`` (GeoJSON, or a table of points with their
label first), else the counties of New York in ../shared/data, else the built-in island. A map of
where a person of the most populous area goes is written to ``bench/results/places.png``.
"""

import os
import time
from pathlib import Path

import numpy as np

import pramble

ALPHA = 4.0
COUNTIES = (
    Path(__file__).resolve().parents[2]
    / "shared"
    / "randomised"
    / "geo"
    / "ny_counties_centroids.csv"
)


def areas_and_shares() -> tuple[pramble.Areas, np.ndarray, str]:
    """Return areas, a share of people for each, and where they come from."""
    stated = os.environ.get("PRAMBLE_AREAS")
    if stated is None and not COUNTIES.exists():
        shares = pramble.datasets.synthetic_island_shares()
        areas = pramble.datasets.synthetic_island()
        return areas, np.array([shares[label] for label in areas.labels]), "the made-up island"
    path = COUNTIES if stated is None else Path(stated)
    if path.suffix == ".csv":
        areas = pramble.Areas.from_points(path)
    else:
        areas = pramble.Areas.from_geojson(path, label=os.environ.get("PRAMBLE_LABEL", "NAME"))
    return areas, np.full(len(areas.labels), 1 / len(areas.labels)), path.name


def main() -> None:
    """Print a line for each way, and draw the map."""
    areas, p, source = areas_and_shares()
    km = areas.kilometres()
    distance = pramble.Distance.from_matrix(km, unit="km")
    per_km = ALPHA / distance.diameter
    print(f"{len(p)} areas of {source}, α = {ALPHA:g}; {distance.diameter:.0f} km at most")
    print(f"{'':34s} {'km moved':>9s} {'of bound':>9s} {'nats':>7s} {'variance':>9s} {'s':>6s}")
    ways = {
        "randomised response": lambda: pramble.randomized_response(areas.labels.values, ALPHA),
        "least kilometres, at α": lambda: design(areas, p, objective="loss", loss=km),
        "most information, at α": lambda: design(areas, p),
        "least variance, at α": lambda: design(areas, p, objective="estimation"),
        "most information, α by distance": lambda: pramble.design(
            p, per_km, family="general", distance=distance, categories=areas.labels.values
        ),
        "the same, 10 times α per km": lambda: pramble.design(
            p, 10 * per_km, family="general", distance=distance, categories=areas.labels.values
        ),
    }
    drawn = {}
    for name, way in ways.items():
        start = time.perf_counter()
        found = way()
        seconds = time.perf_counter() - start
        mechanism = found if isinstance(found, pramble.Mechanism) else found.mechanism
        drawn[name] = mechanism
        moved = float((p[:, None] * mechanism.matrix * km).sum())
        share = "" if isinstance(found, pramble.Mechanism) else f"{nearness(found):9.3f}"
        print(
            f"{name:34s} {moved:9.1f} {share:>9s} {pramble.mutual_information(p, mechanism):7.3f} "
            f"{pramble.estimation_variance(p, mechanism):9.3g} {seconds:6.1f}"
        )
    busiest = areas.labels.values[int(np.argmax(p))]
    figure = areas.plot_moves(drawn["the same, 10 times α per km"], busiest)
    target = Path(__file__).with_name("results") / "places.png"
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=120)


def design(areas: pramble.Areas, p: np.ndarray, **asked: object) -> pramble.Design:
    """Return the best of all matrices at α."""
    return pramble.design(
        p, ALPHA, family="general", categories=areas.labels.values, time_limit=60, **asked
    )


def nearness(found: pramble.Design) -> float:
    """Return the smaller of value and bound over the larger: 1 is proven best."""
    return min(found.value, found.bound) / max(found.value, found.bound)


if __name__ == "__main__":
    main()
