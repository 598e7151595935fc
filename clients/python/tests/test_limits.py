"""Limits: waiting, refusing, and the decorator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from conftest import until

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
