"""What is said of workers that cannot do the tasks."""

import platform
import subprocess
import sys

import pytest

import pramble
from pramble.spark import workers
from pramble.spark.workers import (
    check_workers,
    refuse_other_versions,
    said_by_spark,
    unfit,
)

HERE = platform.python_version()


@pytest.mark.parametrize(
    ("python", "found", "said"),
    [
        ("3.9.1", pramble.__version__, "have Python 3.9.1, and this one is"),
        (HERE, "0.0.1", "have pramble 0.0.1, and here it is"),
        (HERE, "cannot import pramble", "cannot import pramble. Start the session with"),
    ],
)
def test_other_workers_are_refused_with_the_remedy(python, found, said):
    with pytest.raises(pramble.InvalidInput, match=said) as error:
        refuse_other_versions(python, found)
    assert "PYSPARK_PYTHON set to a Python that has what this one has" in str(error.value)
    assert sys.executable in str(error.value)
    refuse_other_versions(HERE, pramble.__version__)


def test_what_spark_says_becomes_one_sentence():
    missing = "Job aborted.\n ModuleNotFoundError: No module named 'pyarrow'\n\tat java"
    assert "miss a package: No module named 'pyarrow'." in str(unfit(said_by_spark(missing)))
    other = said_by_spark("[PYTHON_VERSION_MISMATCH] Python in worker has different version")
    assert other == "have another minor version of Python"


def test_workers_are_asked_once_for_each_session(spark, monkeypatch):
    check_workers(spark)
    monkeypatch.setattr(workers, "mapped", lambda *args: pytest.fail("asked again"))
    check_workers(spark)


ALONE = """
import os, sys, warnings
os.environ.pop("PYSPARK_PYTHON", None)
os.environ["PATH"] = "/usr/bin:/bin"
warnings.filterwarnings("error")
warnings.filterwarnings("ignore", "unclosed", ResourceWarning)
from pyspark.sql import SparkSession
import pramble
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "500m")
         .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
         .config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false")
         .getOrCreate())
frame = spark.range(6).selectExpr("id", "if(id % 2 = 0, 'f', 'm') sex")
plan = {"sex": pramble.randomized_response(["f", "m"], 1.0)}
out = pramble.perturb(frame, plan, key=bytes(32)).toArrow()
print(out["id"].to_pylist(), pramble.estimate(frame, plan, by="sex").n)
spark.stop()
"""


def test_a_plain_script_on_one_machine_needs_no_setting():
    """No PYSPARK_PYTHON, another python3 first on the path, every warning an error."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split("\n")[-2].startswith("[0, 1, 2, 3, 4, 5] 6")
    assert "arning:" not in done.stderr
