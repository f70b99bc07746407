"""The command line: a file for each group of commands, no mathematics."""


def main() -> None:
    """Run the command line."""
    from pramble.cli.app import run

    run()
