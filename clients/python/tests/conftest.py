"""Sidecars for tests: real ones on the embedded store and on a Redis, and a fake one whose answers a test sets."""

from __future__ import annotations

import asyncio
import inspect
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import pytest

from coxswain import AsyncClient, Client

ROOT = pathlib.Path(__file__).parents[3]
BINARY = os.environ.get("COXSWAIN_SIDECAR", str(ROOT / "bin" / "sidecar"))
# Seconds, far longer than any step of a test takes: a test that waits so long has failed.
LIMIT = 300.0


def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    """Runs tests that are coroutine functions."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    marked = pyfuncitem.get_closest_marker("limit")

    async def run() -> None:
        async with asyncio.timeout(marked.args[0] if marked else LIMIT):
            await pyfuncitem.obj(**arguments)

    asyncio.run(run())
    return True


def until(condition: Callable[[], Any]) -> Any:
    """Waits until a condition holds."""
    end = time.monotonic() + LIMIT
    while not (got := condition()):
        assert time.monotonic() < end, f"does not hold after {LIMIT} s: {inspect.getsource(condition).strip()}"
        time.sleep(0.01)
    return got


async def auntil(condition: Callable[[], Any]) -> Any:
    """Waits until a condition holds, which may be a coroutine function."""
    while True:
        got = condition()
        if inspect.isawaitable(got):
            got = await got
        if got:
            return got
        await asyncio.sleep(0.01)


def without_pauses(loop: asyncio.AbstractEventLoop) -> None:
    """Makes the clock of a loop go on only while the loop has nothing to do but to wait, and then to the end of the wait at once.

    If both ends of all connections are on the loop, no time limit can end early by a pause of this process, and none takes time.
    """
    selector, now = getattr(loop, "_selector"), loop.time()
    real = selector.select

    def select(timeout: float | None = None) -> Any:
        nonlocal now
        ready = real(0)
        if ready or timeout is not None and timeout <= 0:
            return ready
        if timeout is None:
            return real(None)
        now += timeout
        return []

    setattr(selector, "select", select)
    setattr(loop, "time", lambda: now)


class Sidecar:
    """A sidecar as a process."""

    def __init__(self, directory: str, redis: str, name: str = "s", env: dict[str, str] | None = None) -> None:
        self.socket = os.path.join(directory, f"{name}.sock")
        self._redis = redis
        self._env = {k: v for k, v in os.environ.items() if not k.startswith(("COXSWAIN_", "OTEL_"))} | (env or {})
        self._log = open(os.path.join(directory, f"{name}.log"), "ab")
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [BINARY, "serve", "--redis", self._redis, "--socket", self.socket, "--http", ""],
            env=self._env, stdout=self._log, stderr=self._log,
        )  # fmt: skip
        subprocess.run([BINARY, "wait", "--timeout", f"{LIMIT}s", "--socket", self.socket], env=self._env, check=True, stdout=self._log, stderr=self._log)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()
        self._log.close()


@pytest.fixture(scope="session")
def directory() -> Iterator[str]:
    # Not pytest's own directory, whose path is too long for a socket.
    with tempfile.TemporaryDirectory(prefix="cox") as d:
        yield d


@pytest.fixture(scope="session")
def redis(directory: str) -> Iterator[str]:
    # Not at a port, which another process could take first.
    path = os.path.join(directory, "store.sock")
    with subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", path, "--dir", directory, "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        yield f"unix://{path}"
        process.terminate()


@pytest.fixture(scope="session", params=["embedded", "redis"])
def sidecar(request: pytest.FixtureRequest, directory: str) -> Iterator[Sidecar]:
    """A sidecar on each store, shared by all tests."""
    store = "embedded" if request.param == "embedded" else request.getfixturevalue("redis")
    s = Sidecar(directory, store, request.param)
    yield s
    s.stop()


@pytest.fixture
def own(request: pytest.FixtureRequest, directory: str, redis: str) -> Iterator[Callable[..., Sidecar]]:
    """Makes sidecars of the test's own, on the Redis, which the test may kill."""
    made: list[Sidecar] = []

    def make(**env: str) -> Sidecar:
        made.append(Sidecar(directory, redis, uuid.uuid4().hex[:8], env))
        return made[-1]

    yield make
    for s in made:
        s.stop()


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return uuid.uuid4().hex[:12]


@pytest.fixture
def c(sidecar: Sidecar) -> Iterator[Client]:
    with Client("tests", sidecar.socket, deadline=60) as client:
        yield client


@pytest.fixture
def other(sidecar: Sidecar) -> Iterator[Client]:
    with Client("other", sidecar.socket, deadline=60) as client:
        yield client


@pytest.fixture
def client(sidecar: Sidecar) -> Iterator[Callable[..., AsyncClient]]:
    """Makes an AsyncClient, which the test closes."""
    def make(**options: Any) -> AsyncClient:
        return AsyncClient("tests", sidecar.socket, deadline=60.0, **options)

    yield make


class Fake:
    """A sidecar whose answers a test sets. It runs on the loop of the test, whose clock does not go on while anything is to be done."""

    def __init__(self) -> None:
        self.directory = tempfile.TemporaryDirectory(prefix="cox")
        self.socket = os.path.join(self.directory.name, "f.sock")
        self.answers: dict[str, Callable[[Peer, dict[str, Any]], Any]] = {}
        self.calls: list[tuple[Peer, str, Any]] = []
        self.peers: list[Peer] = []
        self.limits = {"max_frame_bytes": 1 << 20, "max_inflight": 100}
        self.protocol = 1
        self.pause = 0.0  # seconds between reads

    async def __aenter__(self) -> Fake:
        without_pauses(asyncio.get_running_loop())
        self._server = await asyncio.start_unix_server(self._serve, self.socket)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for peer in self.peers:
            peer.writer.close()
        self.directory.cleanup()

    def of(self, method: str) -> list[Any]:
        """The params of the calls of a method."""
        return [params for _, called, params in self.calls if called == method]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(writer)
        self.peers.append(peer)
        unpacker = msgpack.Unpacker()
        while data := await reader.read(65536):
            await asyncio.sleep(self.pause)
            unpacker.feed(data)
            for frame in unpacker:
                if frame[0] == 2:
                    self.calls.append((peer, frame[1], frame[2]))
                    continue
                _, msgid, method, (params,) = frame
                self.calls.append((peer, method, params))
                peer.msgid = msgid
                if method == "session.hello":
                    hello = {"server": "fake", "version": "0", "protocol": self.protocol, "session": "s", "limits": self.limits}
                    peer.reply(msgid, hello)
                elif method in self.answers:
                    answer = self.answers[method](peer, params)
                    if answer is not None:
                        peer.reply(msgid, answer)


class Peer:
    """A client's connection to a Fake."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.msgid = 0  # of the last request

    def reply(self, msgid: int, result: Any, error: Any = None) -> None:
        self.writer.write(msgpack.packb([1, msgid, error, result]))

    def notify(self, method: str, params: Any) -> None:
        self.writer.write(msgpack.packb([2, method, [params]]))

    def close(self) -> None:
        self.writer.transport.abort()

    def stop_reading(self) -> None:
        transport = self.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
