"""Release categorical microdata under differential privacy, with the most information it allows.

A mechanism is a row-stochastic matrix with exact dyadic entries; everything else is a function of
mechanisms and counts. ``alpha`` is the α of the paper, the ε of most of the literature. Logarithms
are natural: information is in nats.
"""

import warnings
from typing import Any

from pramble import datasets, paper
from pramble.calibration.calibrate import calibrate
from pramble.calibration.calibration import Calibration
from pramble.data.reading import Reading
from pramble.engine.files import perturb_file
from pramble.engine.measure import measure
from pramble.engine.perturb import perturb
from pramble.errors import (
    InvalidData,
    InvalidInput,
    InvalidMechanism,
    InvalidPlan,
    InvalidPrior,
    NotConverged,
    NotIdentifiable,
    PrambleError,
    PrambleWarning,
    PrivacyError,
    WriteFailed,
)
from pramble.estimation.draws.combine import Combined, combine
from pramble.estimation.draws.impute import impute
from pramble.estimation.draws.synthesize import synthesize
from pramble.estimation.estimate import estimate
from pramble.estimation.independence import Independence, independence_test
from pramble.estimation.regression.regression import estimate_regression
from pramble.estimation.regression.result import Regression
from pramble.estimation.result import Estimate
from pramble.geography.areas import Areas
from pramble.information.fisher import estimation_variance, fisher_information
from pramble.information.measures import (
    conditional_entropy,
    entropy,
    information_bound,
    mutual_information,
    released_distribution,
)
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.geometric import geometric
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.plan import Branch, Plan
from pramble.mechanisms.product import product
from pramble.mechanisms.uniform import keep_probabilities, randomized_response
from pramble.plots.kept import plot_kept
from pramble.plots.tradeoff import plot_tradeoff
from pramble.privacy.certificate import Certificate, certify, compose
from pramble.privacy.guarantee import Guarantee
from pramble.privacy.shuffled.central import CentralGuarantee, central_guarantee
from pramble.releasing.candidates import Candidates, try_release
from pramble.releasing.folder.opening import Release, open_release
from pramble.releasing.release import release
from pramble.risk.assess import assess
from pramble.risk.assessment import Assessment
from pramble.risk.models.membership import Membership
from pramble.solvers.central.kept import KeptShares, kept_shares
from pramble.solvers.design import design
from pramble.solvers.general.circle import circle
from pramble.solvers.record.design_record import design_record
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.result import Design
from pramble.solvers.tables.design_tables import design_tables
from pramble.solvers.tables.result import TableDesign
from pramble.solvers.tradeoff import Comparison, Pareto, compare_designs, pareto_curve
from pramble.values import Progress

__version__ = "0.1.0"

__all__ = [
    "Areas",
    "Assessment",
    "Branch",
    "Calibration",
    "Candidates",
    "CentralGuarantee",
    "Certificate",
    "Combined",
    "Comparison",
    "Design",
    "Distance",
    "Estimate",
    "Guarantee",
    "Independence",
    "InvalidData",
    "InvalidInput",
    "InvalidMechanism",
    "InvalidPlan",
    "InvalidPrior",
    "KeptShares",
    "Measured",
    "Mechanism",
    "Membership",
    "NotConverged",
    "NotIdentifiable",
    "Pareto",
    "Plan",
    "PrambleError",
    "PrambleWarning",
    "PrivacyError",
    "Progress",
    "Reading",
    "RecordDesign",
    "Regression",
    "Release",
    "TableDesign",
    "WriteFailed",
    "assess",
    "calibrate",
    "central_guarantee",
    "certify",
    "circle",
    "combine",
    "compare_designs",
    "compose",
    "conditional_entropy",
    "datasets",
    "design",
    "design_record",
    "design_tables",
    "entropy",
    "estimate",
    "estimate_regression",
    "estimation_variance",
    "fisher_information",
    "geometric",
    "impute",
    "independence_test",
    "information_bound",
    "keep_probabilities",
    "kept_shares",
    "measure",
    "mutual_information",
    "open_release",
    "paper",
    "pareto_curve",
    "perturb",
    "perturb_file",
    "plot_kept",
    "plot_tradeoff",
    "product",
    "randomized_response",
    "release",
    "released_distribution",
    "synthesize",
    "try_release",
]

_MOVED = (
    "keep_levels",
    "privacy_constraints",
    "privacy_vertices",
    "symmetric_optimum",
    "vertex_threshold",
)


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module 'pramble' has no attribute {name!r}")
    message = f"pramble.{name} is now pramble.paper.{name}"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return getattr(paper, name)
