"""The vectors of the protocol, as this client writes and reads them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgpack
import pytest
from conftest import ROOT, Fake, auntil

import coxswain
from coxswain import AsyncClient
from coxswain._methods import IDEMPOTENT

VECTORS = ROOT / "client" / "testdata" / "vectors"


def vectors(file: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads((VECTORS / f"{file}.json").read_text())
    assert read
    return read


def plain(value: Any) -> Any:
    """Writes a decoded value as the vectors' JSON does."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"$bin": value.hex()}
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"$bin": value.encode("utf-8", "surrogateescape").hex()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {plain(k): plain(v) for k, v in value.items()}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@pytest.mark.parametrize("vector", vectors("requests"), ids=lambda v: str(v["name"]))
async def test_requests_match_the_vectors(vector: dict[str, Any]) -> None:
    """Compares without the order of keys; each call is given its deadline and its id."""
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        conn = c.core.conn
        assert conn is not None
        if vector["kind"] == "notification":
            conn._last_id = vector["params"][0] - 1
            waiting = asyncio.create_task(c.call("lock.get", {"name": "x"}))
            await auntil(lambda: fake.of("lock.get"))
            waiting.cancel()
            await auntil(lambda: fake.of(vector["method"]))
            assert fake.of(vector["method"]) == [vector["params"]]
            return
        fake.answers[vector["method"]] = lambda peer, params: {}
        conn._last_id = vector["msgid"] - 1
        given = dict(vector["params"])
        if "_request_id" not in given:
            given["_request_id"] = ""  # the call has no request id
            if vector["method"] in IDEMPOTENT:
                del given["_request_id"]
        await c.call(vector["method"], given)
        peer, _, params = next(call for call in reversed(fake.calls) if call[1] == vector["method"])
        assert plain(params) == vector["params"]
        assert peer.msgid == vector["msgid"]


@pytest.mark.parametrize("vector", vectors("replies"), ids=lambda v: str(v["name"]))
async def test_replies_are_read_as_in_the_vectors(vector: dict[str, Any]) -> None:
    events: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
    async with Fake() as fake, AsyncClient(socket=fake.socket, on_event=lambda method, params: events.put_nowait((method, params))) as c:
        frame = bytes.fromhex(vector["hex"])
        if vector["kind"] == "notification":
            fake.peers[0].writer.write(frame)
            method, params = await events.get()
            assert (method, plain(params)) == (vector["method"], vector["params"])
            return
        conn = c.core.conn
        assert conn is not None
        if vector["msgid"] < 0:
            return  # the ids of this client are never negative
        conn._last_id = vector["msgid"] - 1
        fake.answers["session.ping"] = lambda peer, params: peer.writer.write(frame)
        if vector["json"][2] is None:
            assert plain(await c.session.ping()) == vector["json"][3]
            return
        with pytest.raises(coxswain.CoxswainError) as e:
            await c.session.ping()
        want = vector["error"]
        assert e.value.code == want["code"] and e.value.message == f"session.ping: {want['message']}"
        assert e.value.retryable == want["retryable"]
        assert e.value.retry_after == (want["retry_after_ms"] / 1000 if "retry_after_ms" in want else None)
        assert plain(e.value.details) == want.get("details", {})


@pytest.mark.parametrize("file", ["requests", "liberal", "refused", "malformed", "replies"])
def test_bytes_are_read_as_their_json(file: str) -> None:
    compared = 0
    for vector in vectors(file):
        if "json" in vector:
            read = msgpack.unpackb(bytes.fromhex(vector["hex"]), strict_map_key=False, unicode_errors="surrogateescape")
            assert plain(read) == vector["json"], vector["name"]
            compared += 1
    assert compared


async def test_bytes_that_are_not_the_protocol_end_the_connection() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket, deadline=60) as c:
        answers = [b"\xc1", msgpack.packb([1, 4_000_000_000, None, {}]), msgpack.packb([7, 1]), msgpack.packb(5)]
        asked = len(answers)

        def answer(peer: Any, params: Any) -> Any:
            if answers:
                peer.writer.write(answers.pop())
                return None
            return {"now_at_ms": 1}

        fake.answers["session.ping"] = answer
        with pytest.raises(coxswain.Unavailable, match="4 times in a row"):
            await c.session.ping()
        assert await c.session.ping() == {"now_at_ms": 1}
        assert len(fake.of("session.hello")) == asked + 1
