"""``pramble demo``: the main job, on built-in numbers."""

from rich.table import Table

from pramble.cli.console import answers

SCENARIO_I = (0.3, 0.1, 0.2, 0.08, 0.02, 0.04, 0.06, 0.1, 0.01, 0.09)
"""The first prior of the paper's simulation study."""


def demo() -> None:
    """Show what privacy leaves of the information in a ten-valued variable."""
    import pramble

    table = Table(title="Randomised response on the paper's first scenario (10 values)")
    for heading in ("α asked", "α certified", "kept", "information", "most possible", "share"):
        table.add_column(heading, justify="right")
    for alpha in (0.5, 1.0, 2.0, 4.0):
        mechanism = pramble.randomized_response(10, alpha)
        certificate = pramble.certify(mechanism)
        information = pramble.mutual_information(SCENARIO_I, mechanism)
        most = min(pramble.information_bound(alpha), pramble.entropy(SCENARIO_I))
        table.add_row(
            f"{alpha:g}",
            f"{certificate.alpha:.12f}",
            f"{mechanism.matrix[0, 0]:.1%}",
            f"{information:.6f} nats",
            f"{most:.6f} nats",
            f"{information / most:.0%}",
        )
    answers().print(table)
