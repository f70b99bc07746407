"""Classifiers of scikit-learn, trained on what a release gives and tested on original records.

Whether an adult works, from SEX, MARST, EDUC, DISABWRK and AGE. The first four and the outcome are
randomised, AGE is not. Trained on 20,000 records: the originals, the released values as they are
(naive), imputations (one classifier for each, their probabilities averaged), and synthetic records.
Tested on 50,000 other people, whose originals are known.
"""

import os
import time
import warnings

import numpy as np

import pramble
from bench.analyses.census import responses
from bench.analyses.people import SCHOOLING, YEARS
from pramble.datasets import synthetic_new_york

TRAINED, TESTED = 20_000, 50_000
ALPHAS = (1.0, 2.0, 4.0)
"""Of each of five columns."""
KEYS = max(1, int(os.environ.get("RUNS", "120")) // 24)
COPIES = 5
TARGET = "EMPSTAT"
FEATURES = ("SEX", "MARST", "EDUC", "DISABWRK", "AGE")
RANDOMISED = ("SEX", "MARST", "EDUC", "DISABWRK", TARGET)


def people():
    """Return records to train on and records to test on."""
    raw = synthetic_new_york(120_000, seed=3).to_pandas().astype(str)
    raw = raw[raw.AGE.isin(YEARS)].reset_index(drop=True)
    raw = raw.assign(
        EDUC=raw.EDUC.map(SCHOOLING).fillna("1 school"),
        EMPSTAT=np.where(raw.EMPSTAT == "Employed", "works", "does not"),
    )[[*FEATURES, TARGET]]
    return raw[:TRAINED], raw[TRAINED : TRAINED + TESTED]


def classifiers():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    return {
        "logistic": LogisticRegression(max_iter=1000),
        "forest": RandomForestClassifier(n_estimators=50, min_samples_leaf=20, random_state=0),
    }


def chances(classifier, files, test):
    """Return the probability to work of each test record, averaged over the files trained on."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    columns, drawn = list(FEATURES), []
    for file in files:
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), classifier)
        model.fit(file[columns].astype(str), file[TARGET].astype(str) == "works")
        drawn.append(model.predict_proba(test[columns])[:, 1])
    return np.mean(drawn, axis=0)


def scores(p, works):
    """Accuracy, log-loss and the area under the ROC curve."""
    from sklearn.metrics import log_loss, roc_auc_score

    return ((p > 0.5) == works).mean(), log_loss(works, p), roc_auc_score(works, p)


def sources(train, plan, key):
    """Return what one release gives to train on."""
    released = pramble.perturb(train, plan, key=key.to_bytes(32, "big"))
    return {
        "naive release": [released],
        f"{COPIES} imputations": pramble.impute(released, plan, copies=COPIES, seed=key),
        "synthetic records": [pramble.synthesize(released, plan, seed=key)],
    }


def shown(found):
    """Print mean scores over releases, and the spread of the accuracy."""
    for (name, what), rows in found.items():
        spread = f"± {100 * np.std(rows, axis=0, ddof=1)[0]:.2f}" if len(rows) > 1 else ""
        accuracy, loss, area = np.mean(rows, axis=0)
        print(f"{name:<10} {what:<20} {100 * accuracy:>8.2f} {spread:<7} {loss:>8.4f} {area:>8.4f}")


def main():
    """Print the scores of what is known without a release, and then those for each alpha."""
    train, test = people()
    works = (test[TARGET] == "works").to_numpy()
    share = np.full(len(works), (train[TARGET] == "works").mean())
    print(f"works or not from {', '.join(FEATURES)}; {TRAINED:,} to train on, {TESTED:,} to test")
    print(f"{'':<31} {'accuracy':>8} {'':<7} {'log-loss':>8} {'AUC':>8}")
    shown({("", "the share alone"): [scores(share, works)]})
    models = classifiers()
    for name, model in models.items():
        shown({(name, "original file"): [scores(chances(model, [train], test), works)]})
    for alpha in ALPHAS:
        start, plan, found = time.perf_counter(), responses(train, RANDOMISED, alpha), {}
        for key in range(KEYS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pramble.errors.PrambleWarning)
                made = sources(train, plan, key)
            for name, model in models.items():
                for what, files in made.items():
                    row = scores(chances(model, files, test), works)
                    found.setdefault((name, what), []).append(row)
        spent = time.perf_counter() - start
        print(f"\nalpha = {alpha:g} a column, {KEYS} releases ({spent:.0f} s)")
        shown(dict(sorted(found.items(), reverse=True)))
