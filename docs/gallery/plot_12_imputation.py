"""
Imputations for any software
============================

scikit-learn knows nothing of randomised values. :func:`pramble.impute` draws what the original
values may have been, given all that the release says: several complete copies of the file. Fit a
model to each, and take the mean of what they predict. The copies use the release alone and cost no
privacy.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import pramble

rng = np.random.default_rng(0)
age = rng.integers(20, 80, 4_000)
smokes = (rng.random(4_000) < 0.3).astype(int)
odds = np.exp(-4 + 0.05 * age + 1.0 * smokes)
ill = (rng.random(4_000) < odds / (1 + odds)).astype(int)
people = pd.DataFrame({"age": age, "smokes": smokes, "ill": ill})

plan = {name: pramble.randomized_response([0, 1], 2.0) for name in ("smokes", "ill")}
released = pramble.perturb(people, plan, key=bytes(range(32)))
copies = pramble.impute(released, plan, copies=10, seed=1)


# %%
# The chance of illness of smokers, by age: from the original file, from the copies, and from the
# released values taken at face value.


def chance(frame):
    """Chance of being ill at each age, for smokers, from a logistic regression."""
    new = pd.DataFrame({"age": np.arange(20, 80), "smokes": 1})
    model = LogisticRegression().fit(frame[["age", "smokes"]], frame["ill"])
    return model.predict_proba(new)[:, 1]


drawn = [chance(copy) for copy in copies]
ages = np.arange(20, 80)
figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
for number, one in enumerate(drawn):
    axes.plot(ages, one, "-", color="lightgrey", label="each copy" if number == 0 else None)
axes.plot(ages, np.mean(drawn, axis=0), "-", label="mean of ten copies")
axes.plot(ages, chance(people), "--", label="original file")
axes.plot(ages, chance(released), ":", label="released values at face value")
axes.set_xlabel("age")
axes.set_ylabel("chance of being ill, smokers")
axes.set_title("A model through randomised values")
axes.legend()
