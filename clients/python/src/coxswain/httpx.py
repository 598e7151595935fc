"""Limits for httpx: transports that ask before each request, and report the server's status and Retry-After.

    httpx.AsyncClient(transport=AsyncTransport(client, "crawl", wait=10))
    httpx.Client(transport=Transport(client, "crawl", wait=10))

A request that the limit refuses raises Limited. Each hop of a redirect counts as a request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import httpx

from ._client import AsyncClient, Client
from ._errors import CoxswainError
from ._http import host, retry_after, may_pause
from ._limit import AsyncLimitGrant, LimitGrant

log = logging.getLogger("coxswain")

Key = str | Callable[[str], str]


class AsyncTransport(httpx.AsyncBaseTransport):
    """For httpx.AsyncClient.

    key: what the rule counts, or a function of the URL that returns it; by default the host
    wait: seconds to wait for a slot, at most 60
    transport: the transport that sends the requests; None = httpx's own
    """

    def __init__(self, client: AsyncClient, rule: str, *, key: Key = host, wait: float = 0.0, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._client, self._rule, self._key, self._wait = client, rule, key, wait
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        grant = await self._client.limit(self._rule, _key_of(self._key, request), wait=self._wait)
        try:
            response = await self._transport.handle_async_request(request)
        except BaseException:
            await self._conclude(grant, None)
            raise
        try:
            await self._conclude(grant, response)
        except BaseException:  # the caller does not get the response, whose connection would stay in use
            await response.aclose()
            raise
        return response

    async def _conclude(self, grant: AsyncLimitGrant, response: httpx.Response | None) -> None:
        """Reports the answer, and gives back the permit of max_concurrent. If that fails it is logged, and the request does not fail."""
        try:
            if response is not None and may_pause(response.status_code, after := _after(response)):
                await grant.report(response.status_code, retry_after=after)
            else:
                await grant.__aexit__(None, None, None)
        except CoxswainError as e:
            log.warning("the answer of the server was not reported to the limit: %s", e)

    async def aclose(self) -> None:
        await self._transport.aclose()


class Transport(httpx.BaseTransport):
    """For httpx.Client. See AsyncTransport."""

    def __init__(self, client: Client, rule: str, *, key: Key = host, wait: float = 0.0, transport: httpx.BaseTransport | None = None) -> None:
        self._client, self._rule, self._key, self._wait = client, rule, key, wait
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        grant = self._client.limit(self._rule, _key_of(self._key, request), wait=self._wait)
        try:
            response = self._transport.handle_request(request)
        except BaseException:
            self._conclude(grant, None)
            raise
        try:
            self._conclude(grant, response)
        except BaseException:  # the caller does not get the response, whose connection would stay in use
            response.close()
            raise
        return response

    def _conclude(self, grant: LimitGrant, response: httpx.Response | None) -> None:
        try:
            if response is not None and may_pause(response.status_code, after := _after(response)):
                grant.report(response.status_code, retry_after=after)
            else:
                grant.__exit__(None, None, None)
        except CoxswainError as e:
            log.warning("the answer of the server was not reported to the limit: %s", e)

    def close(self) -> None:
        self._transport.close()


def _key_of(key: Key, request: httpx.Request) -> str:
    return key(str(request.url)) if callable(key) else key


def _after(response: httpx.Response) -> float | None:
    return retry_after(response.headers.get("Retry-After"))
