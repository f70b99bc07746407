"""A real PostgreSQL server for the tests that need one, started and stopped by them."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.tables.people import KEY, design, people_table

import pramble


def program(name: str) -> str | None:
    """The path of one of the server's programs, which Debian keeps out of the way."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(found[-1]) if found else None)


@pytest.fixture(scope="session")
def postgres():
    """Connections' arguments of a server of our own, on a socket in a folder of our own.

    The server refuses to be root's, who starts it as the user ``postgres``.
    """
    missing = "needs the program 'initdb' of PostgreSQL; `make setup` installs it"
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    if initdb is None or pg_ctl is None:
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    # a socket's path has at most 107 bytes, and pytest's folders are closed to other users
    folder = Path(tempfile.mkdtemp(prefix="pramble-pg-"))
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if not os.getuid() else {}
    if user:
        shutil.chown(folder, "postgres", "postgres")

    def run(*command):
        subprocess.run(
            command,
            check=True,
            cwd=folder,
            capture_output=True,
            timeout=120,
            env=environment,
            **user,
        )

    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    data = folder / "data"
    run(initdb, "-D", data, "-U", "tester", "--auth=trust", "--no-sync", "--encoding=UTF8")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    try:
        run(pg_ctl, "-D", data, "-l", folder / "log", "-w", "-o", options, "start")
        try:
            yield {"host": str(folder), "user": "tester", "database": "postgres"}
        finally:
            run(pg_ctl, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def table():
    """The rows as an Arrow table."""
    return people_table()


@pytest.fixture(scope="session")
def expected(table):
    """What every engine must release, by the column of persons."""
    return {
        person: pramble.measure(table, design(2), key=KEY, person=person) for person in (None, "id")
    }
