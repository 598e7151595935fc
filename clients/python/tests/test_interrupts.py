"""Exceptions of signal handlers, such as KeyboardInterrupt, in a thread that waits for the client."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import until

from coxswain import Client
from coxswain._core import Core
from coxswain._feed import Subscription


@pytest.fixture
def interrupt() -> Iterator[Callable[[], None]]:
    """Returns a function for other threads, by which the main thread gets a KeyboardInterrupt."""
    main = threading.get_ident()

    def raises(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, raises)
    yield lambda: signal.pthread_kill(main, signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


def test_what_is_granted_while_the_thread_is_interrupted_is_given_back(
    c: Client, name: str, interrupt: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    c.ratelimit.put_rule(
        rule={"name": name, "algorithm": "token_bucket", "limits": [{"limit": 1, "period_ms": 3_600_000}], "max_concurrent": 1}
    )
    invoke: Callable[..., Any] = Core.invoke

    async def interrupted(self: Core, method: str, *args: Any, **kwargs: Any) -> Any:
        result = await invoke(self, method, *args, **kwargs)
        if method in ("lock.acquire", "ratelimit.acquire"):
            interrupt()
        return result

    with monkeypatch.context() as patched:
        patched.setattr(Core, "invoke", interrupted)
        with pytest.raises(KeyboardInterrupt):
            c.lock(name, bind="ttl", ttl=3600).acquire()
        with pytest.raises(KeyboardInterrupt):
            c.limit(name, "k")
    until(lambda: not c.lock.get(name=name)["held"])
    until(lambda: c.ratelimit.peek(rule=name, key="k")["allowed"])
    c.ratelimit.delete_rule(name=name)


def test_a_message_that_was_taken_while_the_thread_was_interrupted_is_taken_again(
    c: Client, name: str, interrupt: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: Callable[..., Any] = Subscription._taken

    def interrupted(self: Any, message: Any) -> Any:
        interrupt()
        return taken(self, message)

    with c.stream(name, group="g") as sub:
        c.stream.publish(stream=name, body=b"1")
        with monkeypatch.context() as patched:
            patched.setattr(Subscription, "_taken", interrupted)
            with pytest.raises(KeyboardInterrupt):
                sub.get(60)
        with sub.get(60) as message:
            assert (message.body, message.attempt) == (b"1", 1)


def test_a_release_goes_on_when_the_thread_is_interrupted(
    c: Client, name: str, interrupt: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = threading.Event()
    invoke: Callable[..., Any] = Core.invoke

    async def interrupted(self: Core, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "lock.release":
            interrupt()
            await asyncio.to_thread(raised.wait, 60)
        return await invoke(self, method, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Core, "invoke", interrupted)
        with pytest.raises(KeyboardInterrupt), c.lock(name):
            pass
        raised.set()
        until(lambda: not c.lock.get(name=name)["held"])
