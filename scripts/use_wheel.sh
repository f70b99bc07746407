# What a new user does first, in an empty folder, with `pramble` and its Python on the path.
pramble --version
pramble demo --help
pramble demo
python - <<'PYTHON'
import pathlib

import pramble

here = pathlib.Path(pramble.__file__).resolve()
assert "site-packages" in here.parts, here
people = pramble.datasets.synthetic_new_york(2_000).select(["SEX", "MARST"])
made = pramble.release(people, "release", columns=["SEX", "MARST"], alpha=2.0)
release = pramble.open_release("release")
shares = pramble.estimate(release, by="SEX")
assert abs(shares.probabilities.sum() - 1) < 1e-9
print(release, shares, sep="\n")
PYTHON
pramble estimate release --by MARST
pramble ledger
