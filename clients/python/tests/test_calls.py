"""Calls, their errors, deadlines and cancellation, and many of them on one connection."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import inspect
import os
import pathlib
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from conftest import ROOT, Fake, Sidecar, auntil, until

import coxswain
from coxswain import AsyncClient, Client
from coxswain._errors import BY_CODE

LIMITS: Any = [{"limit": 3, "period_ms": 3_600_000}]


def test_calls_by_name_and_by_method_have_the_same_result(c: Client, name: str) -> None:
    by_name = c.call("ratelimit.acquire", {"key": name, "algorithm": "token_bucket", "limits": LIMITS})
    by_method = c.ratelimit.acquire(key=name, algorithm="token_bucket", limits=LIMITS)
    assert (by_name["allowed"], by_name["remaining"]) == (True, 2)
    assert (by_method["allowed"], by_method["remaining"]) == (True, 1)


async def test_the_same_from_asyncio(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c:
        answers = [await c.ratelimit.acquire(key=name, algorithm="token_bucket", limits=LIMITS) for _ in range(4)]
        assert [a["allowed"] for a in answers] == [True, True, True, False]
        assert 0 < answers[3]["retry_after_ms"] <= 3_600_000
        assert (await c.call("session.ping"))["now_at_ms"] > 0


def test_every_method_of_the_sidecar_has_its_call_with_its_params(c: Client) -> None:
    for form, known in ((c, c.rpc.methods()["methods"]), (AsyncClient(), c.rpc.methods()["methods"])):
        for described in known:
            noun, verb = described["name"].split(".")
            if described["name"] == "rpc.cancel":
                continue  # clients send it by themselves
            signature = inspect.signature(getattr(getattr(form, noun), verb))
            assert set(signature.parameters) - {"deadline", "request_id"} == {p["name"] for p in described["params"]}, described["name"]
            assert ("request_id" in signature.parameters) != described["idempotent"], described["name"]
            for p in described["params"]:
                required = signature.parameters[p["name"]].default is inspect.Parameter.empty
                assert required == p["required"], (described["name"], p["name"])


def test_every_code_of_the_contract_is_an_exception() -> None:
    source = (ROOT / "client" / "api" / "code.go").read_text()
    codes = set(re.findall(r'^\t\w+ +Code = "(\w+)"$', source, re.M))
    assert len(codes) > 10 and set(BY_CODE) == codes
    retryable = re.search(r"func \(c Code\) Retryable.*?case (.*?):", source, re.S)
    assert retryable
    names = {re.sub(r"(?<!^)(?=[A-Z])", "_", n.strip()).upper() for n in retryable[1].split(",")}
    assert names == {code for code, kind in BY_CODE.items() if kind.retryable}
    assert all(getattr(coxswain, kind.__name__) is kind for kind in BY_CODE.values())


def test_errors_name_the_mistake(c: Client, name: str) -> None:
    with pytest.raises(coxswain.NotFound, match="ratelimit.acquire: .*no-such-rule") as e:
        c.ratelimit.acquire(rule="no-such-rule", key=name)
    assert (e.value.code, e.value.retryable, e.value.maybe_executed) == ("NOT_FOUND", False, False)
    with pytest.raises(coxswain.MethodNotFound, match="lock.acquire"):
        c.call("lock.aquire")
    with pytest.raises(coxswain.InvalidArgument, match="ttl_ms"):
        c.call("lock.acquire", {"name": name, "tll_ms": 1})
    with pytest.raises(TypeError, match="serialize"):
        c.call("lock.acquire", {"name": object()})
    assert c.session.ping()["now_at_ms"] > 0, "the connection goes on"


def test_a_call_that_is_larger_than_a_frame_is_refused_by_the_client(c: Client, name: str) -> None:
    with pytest.raises(coxswain.InvalidArgument, match="max_frame_bytes"):
        c.stream.publish(stream=name, body=b"x" * (2 << 20))
    assert c.session.ping()["now_at_ms"] > 0, "the connection goes on"


def test_a_request_id_makes_two_calls_one(c: Client, other: Client, name: str) -> None:
    first = c.ratelimit.acquire(key=name, algorithm="token_bucket", limits=LIMITS, request_id=name)
    second = other.ratelimit.acquire(key=name, algorithm="token_bucket", limits=LIMITS, request_id=name)
    assert not first.get("replayed") and second.get("replayed")
    assert c.ratelimit.peek(key=name, algorithm="token_bucket", limits=LIMITS)["remaining"] == 2
    with pytest.raises(coxswain.Conflict):
        c.ratelimit.acquire(key=name, algorithm="token_bucket", limits=LIMITS, cost=2, request_id=name)


def test_a_call_waits_within_its_deadline(c: Client, other: Client, name: str) -> None:
    with other.lock(name):
        for deadline in (0.1, 1.0, 10.0, 30.0):
            try:
                assert not c.lock.acquire(name=name, wait_ms=60_000, deadline=deadline)["acquired"]
                break
            except coxswain.DeadlineExceeded:
                pass  # the tenth that the sidecar keeps for its answer was too short on this machine
        else:
            pytest.fail("the sidecar does not answer within a deadline")
        until(lambda: not other.lock.get(name=name).get("waiting"))


async def test_a_call_that_is_not_answered_ends_with_its_deadline() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        with pytest.raises(coxswain.DeadlineExceeded, match="session.ping"):
            await c.session.ping(deadline=0.05)
        with pytest.raises(TimeoutError):
            await c.session.ping(deadline=0.05)
        await auntil(lambda: len(fake.of("rpc.cancel")) == 2)
        assert fake.of("rpc.cancel")[1] == [fake.peers[0].msgid]


async def test_a_cancelled_task_cancels_its_call(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c, client() as other, other.lock(name):
        call = asyncio.create_task(c.lock.acquire(name=name, wait_ms=60_000))

        async def waiting() -> int:
            return (await other.lock.get(name=name)).get("waiting", 0)

        await auntil(waiting)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        async def none() -> bool:
            return await waiting() == 0

        await auntil(none)
        assert (await c.session.ping())["now_at_ms"] > 0


async def test_many_tasks_share_one_connection(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c:
        before = (await c.inspect.snapshot())["counts"]["connections"]
        limits: Any = [{"limit": 1000, "period_ms": 3_600_000}]
        await asyncio.gather(*(c.ratelimit.acquire(key=name, algorithm="fixed_window", limits=limits) for _ in range(500)))
        assert (await c.ratelimit.peek(key=name, algorithm="fixed_window", limits=limits))["current"] == 500
        assert (await c.inspect.snapshot())["counts"]["connections"] <= before


def test_many_threads_share_one_connection(c: Client, name: str) -> None:
    before = c.inspect.snapshot()["counts"]["connections"]
    limits: Any = [{"limit": 1000, "period_ms": 3_600_000}]
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        for _ in pool.map(lambda _: c.ratelimit.acquire(key=name, algorithm="fixed_window", limits=limits), range(300)):
            pass
    assert c.ratelimit.peek(key=name, algorithm="fixed_window", limits=limits)["current"] == 300
    assert c.inspect.snapshot()["counts"]["connections"] <= before


async def test_calls_beyond_max_inflight_wait_instead_of_being_refused(own: Callable[..., Sidecar], name: str) -> None:
    sidecar = own(COXSWAIN_LIMITS_MAX_INFLIGHT="4")
    async with AsyncClient(socket=sidecar.socket, deadline=60) as c:
        limits: Any = [{"limit": 1000, "period_ms": 3_600_000}]
        await asyncio.gather(*(c.ratelimit.acquire(key=f"{name}{i}", algorithm="fixed_window", limits=limits) for i in range(200)))


async def test_one_write_has_the_calls_of_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["session.ping"] = lambda peer, params: {"now_at_ms": 1}
        written: list[bytes] = []
        conn = c.core.conn
        assert conn is not None
        write = conn._transport.write

        def note(data: bytes) -> None:
            written.append(data)
            write(data)

        monkeypatch.setattr(conn._transport, "write", note)
        await asyncio.gather(*(c.session.ping() for _ in range(50)))
        assert len(written) == 1


def test_without_a_sidecar_the_error_has_the_remedy(tmp_path: pathlib.Path) -> None:
    c = Client(socket=tmp_path / "none.sock", deadline=0.05)
    with pytest.raises(coxswain.ConnectError, match="sidecar serve.*COXSWAIN_SOCKET") as e:
        c.session.ping()
    assert e.value.retryable and isinstance(e.value, ConnectionError)
    c.close()
    with pytest.raises(coxswain.ConnectError, match="a Unix socket takes about 100"), Client(socket="/tmp/" + "x" * 200, deadline=3600):
        pass  # another attempt cannot succeed, so that connect does not wait for one


async def test_another_protocol_version_is_reported() -> None:
    async with Fake() as fake:
        fake.protocol = 2
        with pytest.raises(coxswain.ConnectError, match="speaks protocol 2"):
            async with AsyncClient(socket=fake.socket, deadline=3600):
                pass


def test_the_socket_is_that_of_the_environment(sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COXSWAIN_SOCKET", sidecar.socket)
    with Client() as c:
        assert c.session.ping()["now_at_ms"] > 0


def test_calls_of_a_closed_client_raise(sidecar: Sidecar, name: str) -> None:
    c = Client(socket=sidecar.socket, deadline=60)
    with pytest.raises(coxswain.LostError, match="the client was closed"), c.lock(name):
        waiting = threading.Thread(target=lambda: pytest.raises(coxswain.ClosedError, c.lock.acquire, name=name, wait_ms=60_000))
        waiting.start()
        until(lambda: c.lock.get(name=name).get("waiting"))
        c.close()
        waiting.join(60)
        assert not waiting.is_alive()
    with pytest.raises(coxswain.ClosedError):
        c.session.ping()
    c.close()


async def test_a_client_of_one_loop_serves_the_next(client: Callable[..., AsyncClient]) -> None:
    c = client()

    def loop() -> Any:
        async def ping() -> Any:
            return await c.session.ping()

        return asyncio.run(ping())

    for _ in range(2):
        assert (await asyncio.to_thread(loop))["now_at_ms"] > 0


def test_a_client_that_is_dropped_gives_back_what_it_holds(c: Client, sidecar: Sidecar, name: str) -> None:
    dropped = Client(socket=sidecar.socket, deadline=60)
    assert dropped.lock.acquire(name=name)["acquired"]
    del dropped
    gc.collect()
    until(lambda: not c.lock.get(name=name)["held"])


async def test_a_client_that_is_collected_on_its_own_thread_is_closed(sidecar: Sidecar, c: Client, name: str) -> None:
    dropped = Client(socket=sidecar.socket, deadline=60)
    assert dropped.lock.acquire(name=name)["acquired"]
    runner = dropped._runner
    assert runner is not None
    runner.loop.call_soon_threadsafe(runner.stop, dropped.core)
    await asyncio.to_thread(runner.thread.join, 60)
    assert not runner.thread.is_alive() and runner.loop.is_closed()
    until(lambda: not c.lock.get(name=name)["held"])


def test_an_async_client_that_is_not_closed_ends_with_its_loop(sidecar: Sidecar, c: Client, name: str) -> None:
    waiter = AsyncClient(socket=sidecar.socket, deadline=60)

    async def main() -> None:
        assert (await waiter.lock.acquire(name=name))["acquired"]

    asyncio.run(main())
    until(lambda: not c.lock.get(name=name)["held"])


def test_the_holder_is_shown_by_the_names_of_the_client(c: Client, other: Client, name: str) -> None:
    with other.lock(name, meta="job 7"):
        held_by = c.lock.get(name=name)["held_by"]
    assert (held_by["client"], held_by["meta"]) == ("other", "job 7")
    assert held_by["instance"].endswith(f"/{os.getpid()}")
