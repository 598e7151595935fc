"""The hooks for aiohttp and httpx, on a site and a sidecar."""

from __future__ import annotations

import asyncio
import datetime
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx
import pytest
from conftest import ROOT, Fake, Sidecar, auntil
from site_ import Site

from coxswain import AsyncClient, Client, Limited, NotFound
from coxswain._http import host, outcome, retry_after
from coxswain.aiohttp import limits
from coxswain.httpx import AsyncTransport, Transport

HOUR = 3_600_000


def site(*answers: tuple[int, str | None]) -> Site:
    """Answers with these statuses first, and 200 afterwards."""
    return Site(lambda before, path, agent: answers[before] if before < len(answers) else (200, None))


async def rule(c: AsyncClient, name: str, limit: int, **fields: Any) -> None:
    await c.call("ratelimit.put_rule", {"rule": {"name": name, "algorithm": "token_bucket", "limits": [{"limit": limit, "period_ms": HOUR}], **fields}})

    async def known() -> bool:
        try:
            return bool(await c.ratelimit.peek(rule=name, key="k"))
        except NotFound:
            return False

    await auntil(known)


def aiohttp_get(c: AsyncClient, name: str) -> Any:
    async def get(url: str) -> int:
        async with aiohttp.ClientSession(trace_configs=[limits(c, name)]) as session, session.get(url) as response:
            return response.status

    return get


def httpx_get(c: AsyncClient, name: str) -> Any:
    async def get(url: str) -> int:
        async with httpx.AsyncClient(transport=AsyncTransport(c, name)) as session:
            return (await session.get(url)).status_code

    return get


hooks = pytest.mark.parametrize("hook", [aiohttp_get, httpx_get])


@hooks
async def test_requests_are_limited_by_the_rule_of_their_host(client: Callable[..., AsyncClient], name: str, hook: Any) -> None:
    async with client() as c:
        await rule(c, name, 2)
        get = hook(c, name)
        with site() as s:
            assert [await get(s.url), await get(s.url)] == [200, 200]
            with pytest.raises(Limited) as refused:
                await get(s.url)
            assert refused.value.retry_after is not None and refused.value.retry_after > 0
            assert len(s.log) == 2
            assert await get(s.url.replace("127.0.0.1", "localhost")) == 200


@hooks
async def test_a_penalty_status_pauses_the_host_for_all_clients(client: Callable[..., AsyncClient], sidecar: Sidecar, name: str, hook: Any) -> None:
    async with client() as c, AsyncClient("another", sidecar.socket, deadline=60) as another:
        await rule(c, name, 100)
        with site((200, None), (429, "3600")) as s:
            assert [await hook(c, name)(s.url), await hook(c, name)(s.url)] == [200, 429]
            with pytest.raises(Limited) as refused:
                await another.limit(name, host(s.url))
            assert refused.value.result is not None and refused.value.result.get("denied_by") == "pause"


@hooks
async def test_a_permit_is_free_when_its_request_has_ended(client: Callable[..., AsyncClient], name: str, hook: Any) -> None:
    async with client() as c:
        await rule(c, name, 100, max_concurrent=1)
        get = hook(c, name)
        with site((200, None), (404, None)) as s:
            assert [await get(s.url), await get(s.url), await get(s.url)] == [200, 404, 200]
            url = s.url
        with pytest.raises((aiohttp.ClientError, httpx.TransportError)):
            await get(url)  # no server listens
        async with c.limit(name, host(url)):
            pass


def test_httpx_for_threads(c: Client, name: str) -> None:
    c.call("ratelimit.put_rule", {"rule": {"name": name, "algorithm": "token_bucket", "limits": [{"limit": 9, "period_ms": HOUR}], "max_concurrent": 1}})
    with site((200, None), (503, "3600")) as s, httpx.Client(transport=Transport(c, name, key="site", wait=1)) as session:
        assert [session.get(s.url).status_code, session.get(s.url).status_code] == [200, 503]
        with pytest.raises(Limited):
            session.get(s.url)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://Example.com/a", "example.com"), ("http://example.com:8080/", "example.com"), ("https://u:p@example.com.:443/", "example.com"),
        ("http://[0:0::1]:81/", "::1"), ("http://[::ffff:10.0.0.1]/", "10.0.0.1"), ("https://Bücher.de/", "xn--bcher-kva.de"),
    ],
)  # fmt: skip
def test_the_key_of_a_url_is_its_host(url: str, key: str) -> None:
    assert host(url) == key


def test_a_retry_after_has_seconds_or_a_date() -> None:
    assert [retry_after(text) for text in (None, "", " 120 ", "soon", "-5", "1.5", "²")] == [None, None, 120.0, None, None, None, None]
    assert retry_after("9" * 400) == 999_999_999_999.0
    far = retry_after("Wed, 21 Oct 2999 07:28:00 GMT")
    assert far is not None and far > datetime.timedelta(days=300_000).total_seconds()
    past = retry_after("Wed, 21 Oct 2015 07:28:00 GMT")
    assert past is not None and past < 0


def test_the_outcome_of_an_identity_by_the_status() -> None:
    assert [outcome(s) for s in (200, 304, 404, 429, 503, 403, 500)] == ["ok", "ok", "ok", "soft_block", "soft_block", "hard_block", "fail"]


PAGE = (ROOT / "docs" / "scrapy.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.mark.parametrize("block", BLOCKS[1:], ids=["aiohttp", "httpx"])
async def test_a_program_of_the_page_runs(
    block: str, client: Callable[..., AsyncClient], sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COXSWAIN_SOCKET", sidecar.socket)
    async with client() as c:
        await rule(c, "crawl", 1000)
        with site() as s:
            namespace: dict[str, Any] = {}
            # The part for threads would hold up the loop that asks it.
            await asyncio.to_thread(exec, block.replace("https://example.com/", s.url), namespace)
            await namespace["main"]()
            printed = capsys.readouterr().out.split()
            assert printed == ["200"] * block.count("print(") and len(s.log) == len(printed)


def test_the_page_has_the_settings_of_the_middleware() -> None:
    source = (ROOT / "clients" / "python" / "src" / "coxswain" / "scrapy.py").read_text()
    table = PAGE.split("## Settings")[1].split("## ")[0]
    names = re.compile(r"COXSWAIN_[A-Z_]+")
    assert {n for line in table.splitlines() if line.startswith("| `COX") for n in names.findall(line.split("|")[1])} == set(names.findall(source))
    example: dict[str, Any] = {}
    exec((ROOT / "examples" / "scrapy" / "crawl" / "settings.py").read_text(), example)
    shown: dict[str, Any] = {}
    exec(BLOCKS[0], shown)
    assert {k: example[k] for k in shown if k.isupper()} == {k: v for k, v in shown.items() if k.isupper()}


class Body(httpx.AsyncByteStream, httpx.SyncByteStream):
    """The body of an answer, which may be closed."""

    closed = False

    async def aclose(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True


class Answering(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """Answers with a body."""

    def __init__(self) -> None:
        self.body = Body()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=self.body)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=self.body)


async def test_the_response_of_a_request_that_is_cancelled_during_its_report_is_closed() -> None:
    """Otherwise its connection would stay in use."""
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["ratelimit.acquire"] = lambda peer, params: {"allowed": True, "held": True, "grant": "g"}
        sender, trace, at = Answering(), limits(c, "r"), SimpleNamespace(coxswain=await c.limit("r", "k"))
        reply = Answering().handle_request(httpx.Request("GET", "http://a/"))
        params: Any = SimpleNamespace(response=SimpleNamespace(headers={}, status=200, close=reply.close))
        session: Any = None

        async def end() -> None:
            await trace.on_request_end[0](session, at, params)

        async def send() -> None:
            await AsyncTransport(c, "r", transport=sender).handle_async_request(httpx.Request("GET", "http://a/"))

        for do in (end, send):
            sending = asyncio.create_task(do())
            await auntil(lambda: fake.of("ratelimit.done"))
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            fake.calls.clear()
        assert sender.body.closed and reply.is_closed


def test_the_response_of_a_request_that_is_interrupted_during_its_report_is_closed(c: Client, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("coxswain._limit.LimitGrant.__exit__", interrupted)
    c.call("ratelimit.put_rule", {"rule": {"name": name, "algorithm": "token_bucket", "limits": [{"limit": 9, "period_ms": HOUR}]}})
    sender = Answering()
    with pytest.raises(KeyboardInterrupt):
        Transport(c, name, key="k", transport=sender).handle_request(httpx.Request("GET", "http://a/"))
    assert sender.body.closed
