"""Release categorical microdata under differential privacy, with the most information it allows.

A mechanism is a row-stochastic matrix with exact dyadic entries; everything else is a function of
mechanisms and counts. ``alpha`` is the α of the paper, the ε of most of the literature. Logarithms
are natural: information is in nats. A name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pramble import datasets, paper
    from pramble.calibration.calibrate import calibrate
    from pramble.calibration.calibration import Calibration
    from pramble.data.recode import Reading
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
    from pramble.estimation.follow.result import Estimate
    from pramble.estimation.independence import (
        Independence,
        independence_test,
    )
    from pramble.estimation.regression.regression import estimate_regression
    from pramble.estimation.regression.result import Regression
    from pramble.estimation.survey import Survey
    from pramble.geography.areas import Areas
    from pramble.information.fisher import (
        estimation_variance,
        fisher_information,
    )
    from pramble.information.measures import (
        conditional_entropy,
        entropy,
        information_bound,
        mutual_information,
        released_distribution,
    )
    from pramble.mechanisms.distance import Distance
    from pramble.mechanisms.geometric import geometric
    from pramble.mechanisms.measured import Measured
    from pramble.mechanisms.plan import Branch, Mechanism, Plan
    from pramble.mechanisms.product import product
    from pramble.mechanisms.uniform import (
        keep_probabilities,
        randomized_response,
    )
    from pramble.privacy.central import (
        CentralGuarantee,
        central_guarantee,
    )
    from pramble.privacy.certificate import Certificate, certify, compose
    from pramble.privacy.guarantee import Guarantee
    from pramble.releasing.compare import Candidates, try_release
    from pramble.releasing.folder.open import Release, open_release
    from pramble.releasing.release import release
    from pramble.risk.assess import Assessment, assess
    from pramble.risk.membership import Membership
    from pramble.solvers.design import design
    from pramble.solvers.general.arcs import circle
    from pramble.solvers.record.design_record import design_record
    from pramble.solvers.record.problem import RecordDesign
    from pramble.solvers.result import Design
    from pramble.solvers.tables.design_tables import TableDesign, design_tables
    from pramble.values import Progress

__version__ = "0.1.0"

_MODULES = {
    "Areas": "pramble.geography.areas",
    "Assessment": "pramble.risk.assess",
    "Branch": "pramble.mechanisms.plan",
    "Calibration": "pramble.calibration.calibration",
    "Candidates": "pramble.releasing.compare",
    "CentralGuarantee": "pramble.privacy.central",
    "Certificate": "pramble.privacy.certificate",
    "Combined": "pramble.estimation.draws.combine",
    "Design": "pramble.solvers.result",
    "Distance": "pramble.mechanisms.distance",
    "Estimate": "pramble.estimation.follow.result",
    "Guarantee": "pramble.privacy.guarantee",
    "Independence": "pramble.estimation.independence",
    "InvalidData": "pramble.errors",
    "InvalidInput": "pramble.errors",
    "InvalidMechanism": "pramble.errors",
    "InvalidPlan": "pramble.errors",
    "InvalidPrior": "pramble.errors",
    "Measured": "pramble.mechanisms.measured",
    "Mechanism": "pramble.mechanisms.plan",
    "Membership": "pramble.risk.membership",
    "NotConverged": "pramble.errors",
    "NotIdentifiable": "pramble.errors",
    "Plan": "pramble.mechanisms.plan",
    "PrambleError": "pramble.errors",
    "PrambleWarning": "pramble.errors",
    "PrivacyError": "pramble.errors",
    "Progress": "pramble.values",
    "Reading": "pramble.data.recode",
    "RecordDesign": "pramble.solvers.record.problem",
    "Regression": "pramble.estimation.regression.result",
    "Release": "pramble.releasing.folder.open",
    "Survey": "pramble.estimation.survey",
    "TableDesign": "pramble.solvers.tables.design_tables",
    "WriteFailed": "pramble.errors",
    "assess": "pramble.risk.assess",
    "calibrate": "pramble.calibration.calibrate",
    "central_guarantee": "pramble.privacy.central",
    "certify": "pramble.privacy.certificate",
    "circle": "pramble.solvers.general.arcs",
    "combine": "pramble.estimation.draws.combine",
    "compose": "pramble.privacy.certificate",
    "conditional_entropy": "pramble.information.measures",
    "datasets": "pramble.datasets",
    "design": "pramble.solvers.design",
    "design_record": "pramble.solvers.record.design_record",
    "design_tables": "pramble.solvers.tables.design_tables",
    "entropy": "pramble.information.measures",
    "estimate": "pramble.estimation.estimate",
    "estimate_regression": "pramble.estimation.regression.regression",
    "estimation_variance": "pramble.information.fisher",
    "fisher_information": "pramble.information.fisher",
    "geometric": "pramble.mechanisms.geometric",
    "impute": "pramble.estimation.draws.impute",
    "independence_test": "pramble.estimation.independence",
    "information_bound": "pramble.information.measures",
    "keep_probabilities": "pramble.mechanisms.uniform",
    "measure": "pramble.engine.measure",
    "mutual_information": "pramble.information.measures",
    "open_release": "pramble.releasing.folder.open",
    "paper": "pramble.paper",
    "perturb": "pramble.engine.perturb",
    "perturb_file": "pramble.engine.files",
    "product": "pramble.mechanisms.product",
    "randomized_response": "pramble.mechanisms.uniform",
    "release": "pramble.releasing.release",
    "released_distribution": "pramble.information.measures",
    "synthesize": "pramble.estimation.draws.synthesize",
    "try_release": "pramble.releasing.compare",
}
"""Every public name, and the module that it is loaded from when it is first used."""

__all__ = [
    "Areas",
    "Assessment",
    "Branch",
    "Calibration",
    "Candidates",
    "CentralGuarantee",
    "Certificate",
    "Combined",
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
    "Measured",
    "Mechanism",
    "Membership",
    "NotConverged",
    "NotIdentifiable",
    "Plan",
    "PrambleError",
    "PrambleWarning",
    "PrivacyError",
    "Progress",
    "Reading",
    "RecordDesign",
    "Regression",
    "Release",
    "Survey",
    "TableDesign",
    "WriteFailed",
    "assess",
    "calibrate",
    "central_guarantee",
    "certify",
    "circle",
    "combine",
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
    "measure",
    "mutual_information",
    "open_release",
    "paper",
    "perturb",
    "perturb_file",
    "product",
    "randomized_response",
    "release",
    "released_distribution",
    "synthesize",
    "try_release",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'pramble' has no attribute {name!r}")
    module = import_module(_MODULES[name])
    found = module if module.__name__ == f"pramble.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
