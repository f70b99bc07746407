"""Records in random order: proven ε beside the guide, and what no proof can go below.

Randomised response at n = 1e6 and δ = 1e-6: the proven ε over the guide's (normal margins), the ε
of an attack, and CPU seconds.
"""

import time

import pramble

GUIDE = {10: (0.0019, 0.0066, 0.032, 0.102), 100: (0.0006, 0.0024, 0.020, 0.092)}
ALPHAS = (1.0, 2.0, 4.0, 6.0)


def main() -> None:
    print("randomised response, n = 1e6, delta = 1e-6")
    print("    S  alpha    guide     proven   ratio     attack   CPU s")
    for size, guides in GUIDE.items():
        for alpha, guide in zip(ALPHAS, guides, strict=True):
            mechanism = pramble.randomized_response(size, alpha)
            start = time.process_time()
            g = pramble.central_guarantee(mechanism, rows=10**6, delta=1e-6)
            spent = time.process_time() - start
            print(
                f"{size:>5} {alpha:>6g} {guide:>8g} {g.epsilon:>10.6f} {g.epsilon / guide:>7.3f}"
                f" {g.lower:>10.6f} {spent:>7.2f}"
            )
