"""Limits: waiting, refusing, and the decorator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import pytest
from conftest import Fake, auntil, until

import coxswain
from coxswain import AsyncClient, Client


@pytest.fixture
def rule(c: Client, name: str) -> Iterator[str]:
    """2 in an hour, of which 1 at a time."""
    c.ratelimit.put_rule(
        rule={"name": name, "algorithm": "token_bucket", "limits": [{"limit": 2, "period_ms": 3_600_000}], "max_concurrent": 1}
    )
    yield name
    c.ratelimit.delete_rule(name=name)


def test_a_limit_admits_or_refuses(c: Client, rule: str) -> None:
    with c.limit(rule, "k") as grant:
        assert grant.remaining == 1
        with pytest.raises(coxswain.Limited, match="refused by concurrency") as e:
            c.limit(rule, "k")
        assert e.value.result["denied_by"] == "concurrency"
    with c.limit(rule, "k"):
        pass
    with pytest.raises(coxswain.Limited, match="refused by limit, 2/1h: again in") as e:
        c.limit(rule, "k")
    assert e.value.retry_after is not None and 0 < e.value.retry_after <= 1800
    with pytest.raises(coxswain.Limited) as e:
        c.limit(rule, "k", cost=3)
    assert e.value.retry_after is None, "it never fits"


def test_a_limit_is_waited_for(c: Client, name: str) -> None:
    c.ratelimit.put_rule(rule={"name": name, "algorithm": "token_bucket", "limits": [{"limit": 1, "period_ms": 1000}]})
    until(lambda: c.limit(name, "k", wait=30).result["waited_ms"] > 0)  # one that comes less than a second after another
    c.ratelimit.delete_rule(name=name)


def test_a_grant_is_given_back_or_reported(c: Client, rule: str) -> None:
    c.limit(rule, "k").refund()
    assert c.ratelimit.peek(rule=rule, key="k")["remaining"] == 2
    with c.limit(rule, "k") as grant:
        grant.report(429, retry_after=3600)
    with pytest.raises(coxswain.Limited, match="refused by pause"):
        c.limit(rule, "k")


def test_a_function_is_limited(c: Client, rule: str) -> None:
    calls = []

    @c.limited(rule, key=lambda host, path="/": str(host))
    def fetch(host: str, path: str = "/") -> str:
        """Fetches."""
        calls.append(host)
        return host + path

    assert fetch.__name__ == "fetch" and fetch.__doc__ == "Fetches."
    assert (fetch("a"), fetch("a", path="/x"), fetch("b")) == ("a/", "a/x", "b/")
    with pytest.raises(coxswain.Limited):
        fetch("a")
    assert calls == ["a", "a", "b"]
    with pytest.raises(TypeError, match="AsyncClient.limited"):

        @c.limited(rule, key="k")
        async def wrong() -> None: ...


async def test_a_coroutine_function_is_limited(client: Callable[..., AsyncClient], rule: str) -> None:
    async with client() as c:

        @c.limited(rule, key="k")
        async def fetch(n: int) -> int:
            await asyncio.sleep(0)
            return n

        assert [await fetch(1), await fetch(2)] == [1, 2]
        with pytest.raises(coxswain.Limited):
            await fetch(3)
        grant = await c.limit(rule, "other")
        await grant.refund()
        async with c.limit(rule, "other") as grant:
            await grant.report(200)


@pytest.mark.parametrize("same_moment", [False, True])
async def test_what_comes_for_a_cancelled_caller_is_given_back(same_moment: bool) -> None:
    """The permit of a grant and the probe of a breaker, which the session would keep."""
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        uses: Any = ((c.limit("r", "k"), "ratelimit.acquire", "ratelimit.refund"), (c.breaker("b"), "breaker.allow", "breaker.report"))
        for what, method, back in uses:
            asking = asyncio.create_task(what.__aenter__())
            await auntil(lambda: fake.of(method))
            peer, conn = fake.peers[0], c.core.conn
            answer = {"allowed": True, "held": True, "grant": "g", "remaining": 1, "state": "half_open", "generation": 3, "probe": "p", "retry_after_ms": 0}
            if same_moment:
                assert conn is not None
                conn.data_received(msgpack.packb([1, peer.msgid, None, answer]))
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            if not same_moment:
                peer.reply(peer.msgid, answer)
            await auntil(lambda: fake.of(back))
        assert fake.of("ratelimit.refund") == [[{"grant": "g"}]]
        assert fake.of("breaker.report") == [[{"name": "b", "outcome": "ignored", "generation": 3, "probe": "p"}]]


async def test_the_end_of_a_block_that_is_cancelled_gives_its_permit_back() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        granted = {"allowed": True, "held": True, "grant": "g", "remaining": 1, "state": "half_open", "generation": 3, "probe": "p", "retry_after_ms": 0}
        fake.answers["ratelimit.acquire"] = fake.answers["breaker.allow"] = lambda peer, params: granted

        async def work() -> None:
            async with c.limit("r", "k"), c.breaker("b"):
                pass

        conn = c.core.conn
        assert conn is not None
        for ends in ("breaker.report", "ratelimit.done"):
            working = asyncio.create_task(work())
            await auntil(lambda: fake.of(ends))
            working.cancel()
            await auntil(lambda: fake.of("ratelimit.done"))
            working.cancel()
            with pytest.raises(asyncio.CancelledError):
                await working
            assert fake.of("breaker.report") and not fake.of("rpc.cancel")
            fake.answers["breaker.report"] = lambda peer, params: {}
            fake.calls.clear()
