"""Runs every block of Python in docs, and the examples of the README."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
import types
from typing import Any

import pytest
from conftest import ROOT, Sidecar

from coxswain import AsyncClient, Client

PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCKS = [(page.name, block) for page in PAGES for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S)]

# Blocks that are not run here, by a text in them, with the reason.
NOT_RUN = {
    "class Coxswain:": "the file examples/python/coxswain.py, which the suite of languages runs",
    "sidecar.call(": "uses that class and never ends; hack/langs/stream.py makes its calls",
    "DOWNLOADER_MIDDLEWARES": "settings of Scrapy, which test_scrapy.py uses",
    "import aiohttp": "fetches https://example.com; test_http.py fetches from a site of its own",
    "import httpx": "as aiohttp",
    "msgpack.packb": "never ends; hack/langs/wire.py has its frames",
}


def runs(block: str) -> bool:
    return not any(mark in block for mark in NOT_RUN)


RUN = [(page, block) for page, block in BLOCKS if runs(block)]


@pytest.fixture
def given(c: Client) -> dict[str, Any]:
    """The names that the blocks of a page use without defining them."""
    for rule in ("crawl", "agent", "crawler", "identity", "user"):
        c.ratelimit.put_rule(rule={"name": rule, "algorithm": "token_bucket", "limits": [{"limit": 1000, "period_ms": 1000}]})
    c.pool.put(pool="agents", members=[{"id": f"a{i}"} for i in range(100)])
    c.stream.publish(stream="orders", body=b"first")
    c.stream.publish(stream="orders", body=b"last")
    done: list[Any] = []

    def fetch(url: str, agent: str | None = None) -> Any:
        done.append(("fetch", agent))
        return types.SimpleNamespace(status=200, retry_after=None)

    return {
        "done": done,
        "pages": ["1", "2"],
        "work": lambda *args, **kwargs: done.append(("work", kwargs["fence"])),
        "bill": lambda body: done.append(("bill", body)),
        "reload": lambda: done.append("reload"),
        "fetch": fetch,
    }


def test_the_pages_have_blocks() -> None:
    assert len(RUN) >= 16
    assert {"python.md", "quickstart.md", "lock.md", "ratelimit.md"} <= {page for page, _ in RUN}
    for mark in NOT_RUN:
        assert any(mark in block for _, block in BLOCKS), f"no block has {mark}; take it off the list"


@pytest.mark.parametrize(("page", "block"), RUN, ids=[f"{page}-{i}" for i, (page, _) in enumerate(RUN)])
def test_a_block_of_a_page_runs(
    page: str,
    block: str,
    c: Client,
    sidecar: Sidecar,
    given: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COXSWAIN_SOCKET", sidecar.socket)
    code = compile(block, f"docs/{page}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    namespace: dict[str, Any] = {**given, "c": c}
    if not code.co_flags & inspect.CO_COROUTINE:
        exec(code, namespace)
    else:

        async def main() -> None:
            async with AsyncClient(socket=sidecar.socket, deadline=60) as client:

                async def work(fence: int) -> None:
                    given["done"].append(("work", fence))

                namespace.update(c=client, asyncio=asyncio, work=work)
                await eval(code, namespace)

        asyncio.run(main())
    printed = capsys.readouterr().out
    if "print(lk.fence)" in block:
        assert printed.strip().isdigit()
    elif "NotFound" in block:
        assert printed.startswith("NOT_FOUND: ratelimit.acquire: ")
    else:
        assert given["done"] or printed, "the block did nothing"
    if "c.pubsub" in block:
        assert printed == "b'rules'\n" and ("bill", b"last") in given["done"]


@pytest.mark.parametrize("example", ["first", "first_async"])
def test_the_examples_of_the_readme_run(example: str, sidecar: Sidecar) -> None:
    file = ROOT / "clients" / "python" / "examples" / f"{example}.py"
    env = {**os.environ, "COXSWAIN_SOCKET": sidecar.socket, "PYTHONPATH": str(ROOT / "clients" / "python" / "src")}
    run = subprocess.run([sys.executable, str(file)], env=env, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(r"(allowed\n){3}refused, again in \d+ ms\n(locked, fence \d+\n)?", run.stdout)
    assert len([line for line in file.read_text().splitlines() if line]) <= 10
