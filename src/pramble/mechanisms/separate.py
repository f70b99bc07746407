"""Products among the blocks of a plan, taken apart: each factor is a block of its own."""

from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Block, Branch, Plan
from pramble.mechanisms.product import Product


def separate_blocks(plan: Plan) -> Plan:
    """Return the plan with each factor of a product as a block of its own."""
    if not any(splits(b, m) for branch in plan.branches for b, m in branch.blocks.items()):
        return plan
    return Plan(branches=[
        Branch(branch.share, dict(
            part for block, m in branch.blocks.items() for part in separate(block, m)
        ))
        for branch in plan.branches
    ])  # fmt: skip


def splits(block: Block, mechanism: Mechanism) -> bool:
    """Whether a block is a product with one factor for each of its columns."""
    several = len(block) > 1 and isinstance(mechanism, Product)
    return several and len(mechanism.factors) == len(block)  # type: ignore[attr-defined]


def separate(block: Block, mechanism: Mechanism) -> list[tuple[Block, Mechanism]]:
    """Return the blocks of single columns that a product is, or the block itself."""
    if not splits(block, mechanism):
        return [(block, mechanism)]
    assert isinstance(mechanism, Product)
    return [((name,), factor) for name, factor in zip(block, mechanism.factors, strict=True)]
