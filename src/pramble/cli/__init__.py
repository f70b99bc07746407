"""The command line: one file per verb, no mathematics."""


def main() -> None:
    """Run the command line."""
    from pramble.cli.app import run

    run()
