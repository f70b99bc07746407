"""One Spark for all its tests: a classic session, whose JVM serves Spark Connect too.

It has two cores and, as clusters do, tries a task that failed again: three times in all.
"""

import os
import shutil
import socket
import sys
import warnings
from pathlib import Path

import pytest

PANDAS = "PySpark does not yet fully support pandas"
"""What Spark says of pandas 3 when frames are made of it, or Connect is imported."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{PANDAS}:FutureWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(scope="session")
def sessions(tmp_path_factory):
    if shutil.which("java") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("needs the program 'java'; `make setup` installs it")
        pytest.skip("needs the program 'java'; `make setup` installs it")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # while Spark starts
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.session import SparkSession as RemoteSession

        classic = (
            SparkSession.builder.master("local[2, 3]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "700m")
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "3")
            .config("spark.local.dir", str(folder))
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.log.level", "OFF")
            .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
            .config("spark.connect.grpc.binding.address", "127.0.0.1")
            .config("spark.connect.grpc.binding.port", str(port))
            .getOrCreate()
        )
        connect = RemoteSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield {"classic": classic, "connect": connect}
    connect.stop()
    classic.stop()


@pytest.fixture(params=["classic", "connect"])
def spark(request, sessions):
    return sessions[request.param]
