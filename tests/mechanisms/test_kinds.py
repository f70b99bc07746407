"""Every kind of mechanism is known as soon as the package is."""

import subprocess
import sys


def test_a_fresh_process_knows_every_kind():
    code = (
        "import pramble\n"
        "from pramble.mechanisms.base import KINDS\n"
        "made = pramble.Mechanism.from_matrix([[0.75, 0.25], [0.25, 0.75]])\n"
        "print(sorted(KINDS), made.kind)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "['arcs', 'general', 'uniform'] general"
