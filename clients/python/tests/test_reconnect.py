"""Calls and leases when the connection breaks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Fake, Sidecar, auntil

import coxswain
from coxswain import AsyncClient


async def test_a_call_whose_connection_breaks_is_repeated_with_its_request_id() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        breaks = [1, 1]

        def acquire(peer: Any, params: Any) -> Any:
            if breaks:
                breaks.pop()
                return peer.close()
            return {"allowed": True, "replayed": True}

        fake.answers["ratelimit.acquire"] = acquire
        assert (await c.ratelimit.acquire(rule="r", key="k"))["replayed"]
        ids = {params["_request_id"] for params in fake.of("ratelimit.acquire")}
        assert len(fake.of("ratelimit.acquire")) == 3 and len(ids) == 1
        assert len(fake.peers) == 3


async def test_each_call_has_an_id_of_its_own_unless_it_is_idempotent() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["ratelimit.acquire"] = lambda peer, params: {"allowed": True}
        fake.answers["lock.get"] = lambda peer, params: {"held": False}
        for _ in range(10):
            await c.ratelimit.acquire(rule="r", key="k")
            await c.lock.get(name="n")
        assert len({params["_request_id"] for params in fake.of("ratelimit.acquire")}) == 10
        assert not any("_request_id" in params for params in fake.of("lock.get"))
        assert all(0 < params["_deadline_ms"] <= 5000 for params in fake.of("lock.get"))


@pytest.mark.parametrize("method", ["ratelimit.acquire", "pubsub.publish"])
async def test_a_call_without_an_id_that_may_have_run_is_not_repeated(method: str) -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers[method] = lambda peer, params: peer.close()
        params: dict[str, Any] = {"channel": "c"} if method == "pubsub.publish" else {"rule": "r", "key": "k", "_request_id": ""}
        with pytest.raises(coxswain.Unavailable, match="maybe executed") as e:
            await c.call(method, params)
        assert e.value.maybe_executed and e.value.retryable
        assert len(fake.of(method)) == 1 and "_request_id" not in fake.of(method)[0]


async def test_a_call_that_breaks_connections_is_given_up() -> None:
    """Each broken connection loses the locks of other callers."""
    async with Fake() as fake, AsyncClient(socket=fake.socket, deadline=60) as c:
        fake.answers["session.ping"] = lambda peer, params: peer.close()
        with pytest.raises(coxswain.Unavailable, match="the connection to the sidecar was lost: .*, 4 times in a row"):
            await c.session.ping()
        assert len(fake.of("session.ping")) == 4


async def test_a_lease_ends_with_its_connection() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["lock.acquire"] = lambda peer, p: {"acquired": True, "token": p["token"], "fence": "7", "ttl_ms": 30000, "retry_after_ms": 0}
        fake.answers["lock.release"] = lambda peer, p: {"released": True, "reason": "released"}
        with pytest.raises(coxswain.LostError, match="the connection ended"):
            async with c.lock("n") as lk:
                fake.peers[0].close()
                await lk.lost.wait()
        assert fake.of("lock.release")[0]["token"] == lk.token, "what a killed sidecar left is freed on the next connection"
        assert len(fake.peers) == 2


async def test_a_renewal_whose_connection_ends_raises_lost_error() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["lock.acquire"] = lambda peer, p: {"acquired": True, "token": p["token"], "fence": "7", "ttl_ms": 30000, "retry_after_ms": 0}
        fake.answers["lock.renew"] = fake.answers["stream.extend"] = lambda peer, p: peer.close()
        lk = await c.lock("n")
        with pytest.raises(coxswain.LostError, match="the connection ended"):
            await lk.renew()
        assert lk.lost.is_set()
        message = {"subscription": "s1", "stream": "s", "group": "g", "id": "1-0", "attempt": 1, "published_at_ms": 1}

        def subscribe(peer: Any, params: Any) -> Any:
            peer.notify("stream.message", message)
            return {"subscription": "s1"}

        fake.answers["stream.subscribe"] = subscribe
        m = await c.stream("s", group="g").get()
        with pytest.raises(coxswain.LostError, match="the connection ended"):
            await m.extend()
        assert m.lost.is_set()


async def test_a_lease_with_a_ttl_outlives_its_connection() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["lock.acquire"] = lambda peer, p: {"acquired": True, "token": p["token"], "fence": "7", "ttl_ms": 30000, "retry_after_ms": 0}
        fake.answers["lock.release"] = lambda peer, p: {"released": True, "reason": "released"}
        fake.answers["session.ping"] = lambda peer, p: {"now_at_ms": 1}
        async with c.lock("n", bind="ttl") as lk:
            fake.peers[0].close()
            await auntil(lambda: len(fake.peers) == 2)
            await c.session.ping()
            assert lk.held


async def test_an_acquisition_whose_grant_ended_with_its_connection_is_made_anew() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        answers: list[dict[str, Any]] = [
            {"acquired": False, "replayed": True, "reason": "released", "ttl_ms": 0, "retry_after_ms": 0},
            {"acquired": True, "fence": "8", "ttl_ms": 30000, "retry_after_ms": 0},
        ]

        def acquire(peer: Any, params: Any) -> Any:
            return peer.close() if len(fake.of("lock.acquire")) == 1 else answers.pop(0)

        fake.answers["lock.acquire"] = acquire
        lk = await c.lock("n")
        assert lk.fence == 8
        first, repeated, anew = fake.of("lock.acquire")
        assert first["token"] == repeated["token"] != anew["token"] == lk.token
        assert first["_request_id"] == repeated["_request_id"] != anew["_request_id"]


async def test_a_grant_that_may_exist_is_given_back() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        with pytest.raises(coxswain.DeadlineExceeded):
            c.core.deadline = 0.05
            await c.lock("n")
        await auntil(lambda: fake.of("lock.release"))
        assert fake.of("lock.release")[0][0]["token"] == fake.of("lock.acquire")[0]["token"]


async def test_a_connection_that_the_sidecar_does_not_read_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coxswain._conn.WRITE_TIMEOUT", 0.1)
    async with Fake() as fake, AsyncClient(socket=fake.socket, deadline=60) as c:
        fake.limits["max_frame_bytes"] = 1 << 20
        fake.answers["stream.publish"] = lambda peer, params: {"published": True}
        fake.peers[0].stop_reading()
        calls = [asyncio.create_task(c.stream.publish(stream="s", body=bytes(200_000))) for _ in range(10)]
        assert all(r["published"] for r in await asyncio.gather(*calls)), "on the next connection"
        assert len(fake.peers) == 2
        # More than 8 MiB do not wait.
        fake.peers[1].stop_reading()
        monkeypatch.setattr("coxswain._conn.WRITE_TIMEOUT", 60)
        many = [asyncio.create_task(c.stream.publish(stream="s", body=bytes(200_000))) for _ in range(60)]
        refused = [r for r in await asyncio.gather(*many[50:], return_exceptions=True) if isinstance(r, coxswain.Overloaded)]
        assert refused
        for task in many:
            task.cancel()


async def test_a_connection_that_the_sidecar_reads_slowly_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coxswain._conn.WRITE_TIMEOUT", 1)
    async with Fake() as fake, AsyncClient(socket=fake.socket, deadline=60) as c:
        fake.answers["stream.publish"] = lambda peer, params: {"published": True}
        fake.pause = 0.05
        calls = [c.stream.publish(stream="s", body=bytes(200_000)) for _ in range(10)]  # of 64 KiB a read, more than a second
        assert all(r["published"] for r in await asyncio.gather(*calls))
        assert len(fake.peers) == 1


@pytest.mark.limit(1200)
async def test_nothing_is_lost_or_done_twice_while_the_sidecar_is_killed_20_times(own: Callable[..., Sidecar], name: str) -> None:
    """50 tasks take, publish and hold locks, and count the answers; Redis has what was done."""
    sidecar = own()
    limits: Any = [{"limit": 1_000_000_000, "period_ms": 31_622_400_000}]
    taken, ids, done = 0, [], False
    grants: list[tuple[str, float, float]] = []  # of each lock: from when, until when its holder thought that it had it
    lost = 0
    now = asyncio.get_running_loop().time

    async def take(c: AsyncClient, key: str) -> None:
        nonlocal taken
        while not done:
            r = await c.ratelimit.acquire(key=name, algorithm="fixed_window", limits=limits, fail_mode="closed")
            assert r["allowed"] and not r["degraded"]
            taken += 1
            p = await c.stream.publish(stream=name, body=key.encode())
            assert p["published"]
            ids.append(p["id"])

    async def hold(c: AsyncClient, lock: str) -> None:
        nonlocal lost
        while not done:
            try:
                async with c.lock(lock, ttl=1, wait=60) as lk:
                    since = now()
                    try:
                        async with asyncio.timeout(random.uniform(0.01, 0.4)):
                            await lk.lost.wait()
                    except TimeoutError:
                        pass
                    grants.append((lock, since, now()))
            except coxswain.LostError:
                lost += 1
            except (coxswain.Busy, coxswain.Unavailable):
                pass  # a waiting call fails when its connection broke 4 times

    async with AsyncClient("one", sidecar.socket, deadline=60) as one, AsyncClient("two", sidecar.socket, deadline=60) as two:
        tasks = [asyncio.create_task(take(c, f"{i}")) for i in range(20) for c in (one, two)]
        tasks += [asyncio.create_task(hold(c, f"{name}{i}")) for i in range(5) for c in (one, two)]
        for _ in range(20):
            before, held = taken, len(grants)
            await auntil(lambda: (taken >= before + 100 and len(grants) >= held + 5) or any(t.done() for t in tasks))
            await asyncio.to_thread(sidecar.kill)
            await asyncio.to_thread(sidecar.start)
        done = True
        await asyncio.gather(*tasks)
        assert len(tasks) == 50
        peeked = await one.ratelimit.peek(key=name, algorithm="fixed_window", limits=limits)
        assert peeked["current"] == taken > 2000
        stats = await one.stream.stats(stream=name)
        assert stats["length"] == len(ids) == len(set(ids)) == taken
    assert lost > 0
    for lock in {g[0] for g in grants}:
        spans = sorted((since, until) for of, since, until in grants if of == lock)
        for (_, until), (since, _) in zip(spans, spans[1:]):
            assert until <= since, f"two holders thought that they had {lock}"
