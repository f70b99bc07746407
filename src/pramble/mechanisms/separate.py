"""Products among the blocks of a plan, taken apart: each factor is a block of its own."""

from pramble.mechanisms.plan import Plan


def separate_blocks(plan: Plan) -> Plan:
    """Return the plan with each factor of a product as a block of its own."""
    return plan.without_products()
