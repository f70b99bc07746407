"""What a design of a record is: a plan, what it costs, and how we know."""

from collections.abc import Mapping
from functools import cached_property

from pramble.information.records import Table
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.views import Views
from pramble.privacy.certificate import Certificate, certify
from pramble.privacy.shuffled.central import CentralGuarantee
from pramble.values import value
from pramble.words import several


@value(eq=False, repr=False)
class RecordDesign:
    r"""The answer of :func:`~pramble.design_record`.

    Attributes
    ----------
    plan : Plan or Views
        What is done to a record.
    alpha : float
        What was asked for, of the whole record; for a central promise, the α that the plan has
        besides.
    objective : str
    value : float
        Estimation: the sum over the wanted tables of n times the summed asymptotic variance of
        their cells, sampling included. Information: nats about the whole record.
    bound : float
        A proven bound on the value of any plan, or any other mechanism on the record.
    costs : mapping from table to float
        The part of the value of each wanted table.
    notes : tuple of str
    information : float
        Nats about the whole record; of blocks side by side at least so many.
    central : CentralGuarantee or None
        What is proven of the shuffled file, or files, where a central promise was asked for.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design_record({"a": 2, "b": 2}, 1.0, tables=1)
    >>> sorted(d.costs), d.gap < 0.5, d.certificate.satisfies(1.0)
    ([('a',), ('b',)], True, True)
    """

    plan: Plan | Views
    alpha: float
    objective: str
    value: float
    bound: float
    costs: Mapping[Table, float]
    notes: tuple[str, ...] = ()
    information: float = 0.0
    central: CentralGuarantee | None = None

    @property
    def gap(self) -> float:
        """How far value and bound are apart, as a share of the value."""
        return abs(self.bound - self.value) / abs(self.value) if self.value else 0.0

    @property
    def one_file(self) -> Plan:
        """The plan of one file; views are several."""
        assert isinstance(self.plan, Plan), "views are asked for by name"
        return self.plan

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the plan, of the whole record."""
        return certify(self.plan)

    @property
    def parts(self) -> str:
        """How many branches the plan has, or how many views there are, in words."""
        if isinstance(self.plan, Views):
            return several(len(self.plan), "view")
        return several(len(self.plan.branches), "branch")

    def __repr__(self) -> str:
        promise = "" if self.central is None else f", central ε = {self.central.epsilon:.4g}"
        return (
            f"<RecordDesign: {self.objective} {self.value:.6g}, bound {self.bound:.6g}, "
            f"{self.parts} over {', '.join(self.plan.columns)}{promise}>"
        )
