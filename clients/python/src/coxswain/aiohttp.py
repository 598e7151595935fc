"""Limits for aiohttp: a trace that asks before each request, and reports the server's status and Retry-After.

    session = aiohttp.ClientSession(trace_configs=[limits(client, "crawl", wait=10)])

A request that the limit refuses raises Limited. All hops of a redirect count as one request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace

import aiohttp

from ._client import AsyncClient
from ._errors import CoxswainError
from ._http import host, retry_after, may_pause
from ._limit import AsyncLimitGrant

log = logging.getLogger("coxswain")


def limits(client: AsyncClient, rule: str, *, key: str | Callable[[str], str] = host, wait: float = 0.0) -> aiohttp.TraceConfig:
    """Returns the trace.

    key: what the rule counts, or a function of the URL that returns it; by default the host
    wait: seconds to wait for a slot, at most 60
    """

    async def ask(_: aiohttp.ClientSession, at: SimpleNamespace, p: aiohttp.TraceRequestStartParams) -> None:
        at.coxswain = await client.limit(rule, key(str(p.url)) if callable(key) else key, wait=wait)

    async def answered(_: aiohttp.ClientSession, at: SimpleNamespace, p: aiohttp.TraceRequestEndParams) -> None:
        after = retry_after(p.response.headers.get("Retry-After"))
        try:
            await conclude(at.coxswain, p.response.status, after)
        except BaseException:  # the caller does not get the response, whose connection would stay in use
            p.response.close()
            raise

    async def failed(_: aiohttp.ClientSession, at: SimpleNamespace, __: aiohttp.TraceRequestExceptionParams) -> None:
        grant = getattr(at, "coxswain", None)  # None if the limit was not asked or refused
        if grant is not None:
            await conclude(grant, None, None)

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(ask)
    trace.on_request_end.append(answered)
    trace.on_request_exception.append(failed)
    return trace


async def conclude(grant: AsyncLimitGrant, status: int | None, after: float | None) -> None:
    """Reports the answer, and gives back the permit of max_concurrent. If that fails it is logged, and the request does not fail."""
    try:
        if status is not None and may_pause(status, after):
            await grant.report(status, retry_after=after)
        else:
            await grant.__aexit__(None, None, None)
    except CoxswainError as e:
        log.warning("the answer of the server was not reported to the limit: %s", e)
