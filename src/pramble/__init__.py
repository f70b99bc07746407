"""Release categorical microdata under differential privacy, with the most information it allows.

A mechanism is a row-stochastic matrix with exact dyadic entries; everything else is a function of
mechanisms and counts. ``alpha`` is the α of the paper, the ε of most of the literature. Logarithms
are natural: information is in nats. A name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pramble import datasets as datasets
    from pramble.calibration.calibrate import calibrate as calibrate
    from pramble.calibration.calibration import Calibration as Calibration
    from pramble.data.recode import Reading as Reading
    from pramble.engine.files import perturb_file as perturb_file
    from pramble.engine.measure import measure as measure
    from pramble.engine.perturb import perturb as perturb
    from pramble.errors import InvalidData as InvalidData
    from pramble.errors import InvalidInput as InvalidInput
    from pramble.errors import InvalidMechanism as InvalidMechanism
    from pramble.errors import InvalidPlan as InvalidPlan
    from pramble.errors import InvalidPrior as InvalidPrior
    from pramble.errors import NotConverged as NotConverged
    from pramble.errors import NotIdentifiable as NotIdentifiable
    from pramble.errors import PrambleError as PrambleError
    from pramble.errors import PrambleWarning as PrambleWarning
    from pramble.errors import PrivacyError as PrivacyError
    from pramble.errors import WriteFailed as WriteFailed
    from pramble.estimation.draws.combine import Combined as Combined
    from pramble.estimation.draws.combine import combine as combine
    from pramble.estimation.draws.impute import impute as impute
    from pramble.estimation.draws.synthesize import synthesize as synthesize
    from pramble.estimation.estimate import estimate as estimate
    from pramble.estimation.functionals.result import Estimate as Estimate
    from pramble.estimation.independence import Independence as Independence
    from pramble.estimation.independence import independence_test as independence_test
    from pramble.estimation.regression.regression import estimate_regression as estimate_regression
    from pramble.estimation.regression.result import Regression as Regression
    from pramble.estimation.survey import Survey as Survey
    from pramble.geography.areas import Areas as Areas
    from pramble.information.fisher import estimation_variance as estimation_variance
    from pramble.information.fisher import fisher_information as fisher_information
    from pramble.information.measures import conditional_entropy as conditional_entropy
    from pramble.information.measures import entropy as entropy
    from pramble.information.measures import information_bound as information_bound
    from pramble.information.measures import mutual_information as mutual_information
    from pramble.information.measures import released_distribution as released_distribution
    from pramble.mechanisms.distance import Distance as Distance
    from pramble.mechanisms.geometric import geometric as geometric
    from pramble.mechanisms.measured import Measured as Measured
    from pramble.mechanisms.plan import Branch as Branch
    from pramble.mechanisms.plan import Mechanism as Mechanism
    from pramble.mechanisms.plan import Plan as Plan
    from pramble.mechanisms.uniform import keep_probabilities as keep_probabilities
    from pramble.mechanisms.uniform import randomized_response as randomized_response
    from pramble.privacy.central import CentralGuarantee as CentralGuarantee
    from pramble.privacy.central import central_guarantee as central_guarantee
    from pramble.privacy.certificate import Certificate as Certificate
    from pramble.privacy.certificate import certify as certify
    from pramble.privacy.promise import Promise as Promise
    from pramble.releasing.audit import Audit as Audit
    from pramble.releasing.audit import audit as audit
    from pramble.releasing.dossier import dossier as dossier
    from pramble.releasing.folder.open import Release as Release
    from pramble.releasing.folder.open import open_release as open_release
    from pramble.releasing.release import release as release
    from pramble.releasing.try_release import Candidates as Candidates
    from pramble.releasing.try_release import try_release as try_release
    from pramble.risk.assess import Assessment as Assessment
    from pramble.risk.assess import assess as assess
    from pramble.risk.membership import Membership as Membership
    from pramble.solvers.design import design as design
    from pramble.solvers.general.arcs import circle as circle
    from pramble.solvers.record.design_record import design_record as design_record
    from pramble.solvers.record.problem import RecordDesign as RecordDesign
    from pramble.solvers.result import Design as Design
    from pramble.solvers.tables.design_tables import TableDesign as TableDesign
    from pramble.solvers.tables.design_tables import design_tables as design_tables
    from pramble.values import Progress as Progress

__version__ = "0.1.0"

# Every public name, by the module that it is loaded from when it is first used.
_NAMES = {
    "calibration.calibrate": "calibrate",
    "calibration.calibration": "Calibration",
    "data.recode": "Reading",
    "datasets": "datasets",
    "engine.files": "perturb_file",
    "engine.measure": "measure",
    "engine.perturb": "perturb",
    "errors": (
        "InvalidData InvalidInput InvalidMechanism InvalidPlan InvalidPrior NotConverged "
        "NotIdentifiable PrambleError PrambleWarning PrivacyError WriteFailed"
    ),
    "estimation.draws.combine": "Combined combine",
    "estimation.draws.impute": "impute",
    "estimation.draws.synthesize": "synthesize",
    "estimation.estimate": "estimate",
    "estimation.functionals.result": "Estimate",
    "estimation.independence": "Independence independence_test",
    "estimation.regression.regression": "estimate_regression",
    "estimation.regression.result": "Regression",
    "estimation.survey": "Survey",
    "geography.areas": "Areas",
    "information.fisher": "estimation_variance fisher_information",
    "information.measures": (
        "conditional_entropy entropy information_bound mutual_information released_distribution"
    ),
    "mechanisms.distance": "Distance",
    "mechanisms.geometric": "geometric",
    "mechanisms.measured": "Measured",
    "mechanisms.plan": "Branch Mechanism Plan",
    "mechanisms.uniform": "keep_probabilities randomized_response",
    "privacy.central": "CentralGuarantee central_guarantee",
    "privacy.certificate": "Certificate certify",
    "privacy.promise": "Promise",
    "releasing.audit": "Audit audit",
    "releasing.dossier": "dossier",
    "releasing.try_release": "Candidates try_release",
    "releasing.folder.open": "Release open_release",
    "releasing.release": "release",
    "risk.assess": "Assessment assess",
    "risk.membership": "Membership",
    "solvers.design": "design",
    "solvers.general.arcs": "circle",
    "solvers.record.design_record": "design_record",
    "solvers.record.problem": "RecordDesign",
    "solvers.result": "Design",
    "solvers.tables.design_tables": "TableDesign design_tables",
    "values": "Progress",
}
_MODULES = dict(
    sorted((name, f"pramble.{home}") for home, names in _NAMES.items() for name in names.split())
)

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'pramble' has no attribute {name!r}")
    module = import_module(_MODULES[name])
    found = module if module.__name__ == f"pramble.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
