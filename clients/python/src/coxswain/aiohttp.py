"""Limits for aiohttp: a trace that asks before each request, and tells what the server said of coming back.

    session = aiohttp.ClientSession(trace_configs=[limits(client, "crawl", wait=10)])

A request that the limit refuses raises Limited. The hops of a redirect are one request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace

import aiohttp

from ._client import AsyncClient
from ._errors import CoxswainError
from ._http import host, retry_after, telling
from ._limit import AsyncLimitGrant

log = logging.getLogger("coxswain")


def limits(client: AsyncClient, rule: str, *, key: str | Callable[[str], str] = host, wait: float = 0.0) -> aiohttp.TraceConfig:
    """Makes the trace.

    key: whom the rule counts, or a function of the URL that returns it; the host, unless it is given
    wait: seconds to wait for a slot, at most 60
    """

    async def ask(_: aiohttp.ClientSession, at: SimpleNamespace, p: aiohttp.TraceRequestStartParams) -> None:
        at.coxswain = await client.limit(rule, key(str(p.url)) if callable(key) else key, wait=wait)

    async def answered(_: aiohttp.ClientSession, at: SimpleNamespace, p: aiohttp.TraceRequestEndParams) -> None:
        after = retry_after(p.response.headers.get("Retry-After"))
        await conclude(at.coxswain, p.response.status, after)

    async def failed(_: aiohttp.ClientSession, at: SimpleNamespace, __: aiohttp.TraceRequestExceptionParams) -> None:
        grant = getattr(at, "coxswain", None)  # it was not asked, or refused
        if grant is not None:
            await conclude(grant, None, None)

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(ask)
    trace.on_request_end.append(answered)
    trace.on_request_exception.append(failed)
    return trace


async def conclude(grant: AsyncLimitGrant, status: int | None, after: float | None) -> None:
    """Tells how a request went, and frees its place under max_concurrent. A failure of that is no failure of the request."""
    try:
        if status is not None and telling(status, after):
            await grant.report(status, retry_after=after)
        else:
            await grant.__aexit__(None, None, None)
    except CoxswainError as e:
        log.warning("what the server said was not told: %s", e)
