"""One synthesis by a peer, run by the peer's own interpreter; needs NumPy, pandas and the peer.

``python _peer.py WHO ROWS.npy SIZES EPSILON DELTA SEED OUT.npy``: rows are integer codes, SIZES the
numbers of categories with commas between them. Every peer has its default settings. ``WHO`` alone
says whether the peer is there.
"""

import importlib
import importlib.metadata
import math
import sys

PACKAGES = {
    "MST (dpmm)": "dpmm",
    "AIM (dpmm)": "dpmm",
    "MST (smartnoise)": "snsynth",
    "AIM (smartnoise)": "snsynth",
    "OpenDP": "opendp",
}


def dpmm(who, rows, sizes, epsilon, delta, seed):
    import pandas as pd
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from numpy.random import RandomState

    names = [f"c{j}" for j in range(len(sizes))]
    domain = dict(zip(names, sizes, strict=True))
    model = {"MST": MSTGM, "AIM": AIMGM}[who[:3]](epsilon=epsilon, delta=delta, n_jobs=1)
    model.set_random_state(RandomState(seed))
    model.set_domain(domain)
    model.fit(pd.DataFrame(rows, columns=names))
    return model.generate(n_records=len(rows))[names].to_numpy()


def snsynth(who, rows, sizes, epsilon, delta, seed):
    import numpy as np
    import pandas as pd
    from snsynth import Synthesizer

    np.random.seed(seed)  # noqa: NPY002 - the peer draws from it
    names = [f"c{j}" for j in range(len(sizes))]
    model = Synthesizer.create(who[:3].lower(), epsilon=epsilon, delta=delta)
    model.fit(pd.DataFrame(rows, columns=names), categorical_columns=names, preprocessor_eps=0.0)
    return np.array(model.sample(len(rows))).astype(int)


def opendp_scale(epsilon, delta, many):
    """The least scale of OpenDP's Gaussian noise on many tables, by its own accounting."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)

    def promised(scale):
        noise = dp.m.make_gaussian(*space, scale=scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), delta)

    sensitivity = math.sqrt(2 * many)
    return dp.binary_search_param(promised, d_in=sensitivity, d_out=(epsilon, delta))


def main(who, *asked):
    importlib.import_module(PACKAGES[who])
    if not asked:
        print(
            importlib.metadata.version(
                {"snsynth": "smartnoise-synth"}.get(PACKAGES[who], PACKAGES[who])
            )
        )
        return
    if who == "OpenDP":
        epsilon, delta, many = asked
        print(opendp_scale(float(epsilon), float(delta), int(many)))
        return
    import numpy as np

    rows, sizes, epsilon, delta, seed, out = asked
    sizes = [int(size) for size in sizes.split(",")]
    synthesise = dpmm if PACKAGES[who] == "dpmm" else snsynth
    made = synthesise(who, np.load(rows), sizes, float(epsilon), float(delta), int(seed))
    np.save(out, made)


if __name__ == "__main__":
    main(*sys.argv[1:])
