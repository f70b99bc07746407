"""Who gets in: the token, the cookie, the name and the origin of a request."""

import asyncio
import http.client
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pramble.app.serve import Guard

PORT = 4321


def asked(guard, *, path="/", query="", kind="http", **headers):
    """The status of one request, its headers, and whether the application saw it."""
    sent, seen = [], []

    async def application(scope, receive, send):
        seen.append(scope)
        if kind == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})

    guard.application = application

    async def send(message):
        sent.append(message)

    own = {"host": f"127.0.0.1:{PORT}", **headers}
    scope = {
        "type": kind,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), text.encode()) for name, text in own.items() if text],
    }
    with ThreadPoolExecutor(1) as apart:  # a browser that is open has the loop of this thread
        apart.submit(asyncio.run, guard(scope, None, send)).result()
    first = sent[0] if sent else {}
    told = {name.decode(): text.decode() for name, text in first.get("headers", [])}
    return first.get("status", first.get("code")), told, bool(seen)


@pytest.fixture
def guard():
    return Guard(None, port=PORT)


def cookie_of(guard):
    _, told, _ = asked(guard, query=f"token={guard.token}")
    return told["set-cookie"].split(";")[0]


def test_a_request_without_token_or_cookie_sees_nothing(guard):
    for path in ("/", "/desk.js", "/session/1/upload/2", "/websocket/"):
        status, _, seen = asked(guard, path=path)
        assert (status, seen) == (403, False)
    assert asked(guard, query="token=wrong")[0] == 403
    assert asked(guard, query="token=")[0] == 403
    assert asked(guard, cookie=f"{guard.cookie}=guessed")[0] == 403
    assert asked(guard, path="/desk.js", query=f"token={guard.token}")[0] == 403


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(guard):
    status, told, seen = asked(guard, query=f"token={guard.token}")
    assert (status, seen) == (303, False)
    assert guard.token not in told["location"]
    assert "HttpOnly" in told["set-cookie"]
    assert "SameSite=Strict" in told["set-cookie"]
    assert guard.token not in told["set-cookie"]
    found = told["set-cookie"].split(";")[0]
    status, told, seen = asked(guard, query="desk=a", cookie=found)
    assert (status, seen) == (200, True)
    assert "frame-ancestors 'none'" in told["content-security-policy"]
    assert told["cache-control"] == "no-store"


def test_two_browsers_are_told_apart_and_one_stays_itself(guard):
    one, two = cookie_of(guard), cookie_of(guard)
    assert one != two
    _, told, _ = asked(guard, query=f"token={guard.token}", cookie=one)
    assert told["set-cookie"].split(";")[0] == one


def test_a_page_without_a_desk_gets_a_new_one_each_time(guard):
    cookie = cookie_of(guard)
    places = {asked(guard, cookie=cookie)[1]["location"] for _ in range(3)}
    assert len(places) == 3


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_other_origins_and_other_names_are_refused_in_spite_of_the_cookie(guard, kind):
    cookie = cookie_of(guard)
    own = {"kind": kind, "path": "/websocket/", "cookie": cookie}
    here = f"http://127.0.0.1:{PORT}"
    assert asked(guard, origin=here, **own)[2]
    for origin in (
        "https://evil.example",
        "http://127.0.0.1:1",
        "null",
        f"https://127.0.0.1:{PORT}",
    ):
        assert not asked(guard, origin=origin, **own)[2]
    for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1", "", f"0.0.0.0:{PORT}"):
        assert not asked(guard, **{**own, "host": host, "origin": here})[2]
    assert asked(guard, **own)[2] == (kind == "http")  # browsers always name it to a WebSocket


def test_a_served_desk_listens_on_loopback_alone_and_refuses_strangers(served):
    place = urlsplit(served.address)
    connection = http.client.HTTPConnection(place.hostname, place.port)
    connection.request("GET", "/")
    answer = connection.getresponse()
    assert answer.status == 403
    assert "token" in answer.read().decode()
    connection.close()
    listening = Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in listening[1:]]
    port = f"{place.port:04X}"
    found = {row[1] for row in rows if row[1].endswith(f":{port}") and row[3] == "0A"}
    assert found == {f"0100007F:{port}"}
