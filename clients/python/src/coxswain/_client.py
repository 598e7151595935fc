"""The clients for threads (Client) and for asyncio (AsyncClient)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import os
import selectors
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Generic, ParamSpec, Self, TypeVar

from . import _methods as m
from . import _nouns as n
from ._core import LONGEST_PAUSE, Core, OnEvent
from ._errors import ClosedError
from ._lease import ms
from ._limit import AsyncLimitGrant, LimitGrant
from ._version import __version__

P = ParamSpec("P")
R = TypeVar("R")


def _limit_params(
    rule: str, key: str, cost: int, wait: float, group: str | None, pool: str | None, fail_mode: str | None
) -> dict[str, Any]:
    params = {"rule": rule, "key": key, "cost": cost, "group": group, "pool": pool, "fail_mode": fail_mode}
    if wait > 0:
        params["wait_ms"] = ms(wait)
    return {k: v for k, v in params.items() if v is not None}


def _key_of(key: str | Callable[..., str], args: Any, kwargs: Any) -> str:
    return key(*args, **kwargs) if callable(key) else key


class AsyncClient:
    """A client of the sidecar for asyncio, with one connection for all tasks of its loop.

    client: the name that is shown for the locks it holds; None = the name of the program
    socket: the path of the sidecar's socket; None = $COXSWAIN_SOCKET, else /run/coxswain/sidecar.sock
    deadline: seconds for a call that gives none, in addition to its wait
    on_event: called with the method and the params of every notification that belongs to no subscription, such as lock.lost; it may be
        a coroutine function

    It connects with the first call, or when it is entered with `async with`, and again whenever the connection breaks.
    """

    def __init__(
        self,
        client: str | None = None,
        socket: str | os.PathLike[str] | None = None,
        *,
        deadline: float = 5.0,
        on_event: OnEvent | None = None,
        version: str = __version__,
    ) -> None:
        self.core = Core(client or os.path.basename(sys.argv[0]) or "python", None if socket is None else os.fspath(socket), version, deadline, on_event)
        self.lock = n.AsyncLockNoun(self)
        self.semaphore = n.AsyncSemaphoreNoun(self)
        self.pool = n.AsyncPoolNoun(self)
        self.permit = n.AsyncPermitNoun(self)
        self.queue = n.AsyncQueueNoun(self)
        self.seen = n.AsyncSeenNoun(self)
        self.breaker = n.AsyncBreakerNoun(self)
        self.stream = n.AsyncStreamNoun(self)
        self.pubsub = n.AsyncPubsubNoun(self)
        self.ratelimit = m.AsyncRatelimitMethods(self.invoke)
        self.session = m.AsyncSessionMethods(self.invoke)
        self.events = m.AsyncEventsMethods(self.invoke)
        self.health = m.AsyncHealthMethods(self.invoke)
        self.inspect = m.AsyncInspectMethods(self.invoke)
        self.rpc = m.AsyncRpcMethods(self.invoke)

    @property
    def draining(self) -> float | None:
        """When the pod ends, as Unix time, once the sidecar has announced it: finish the work and start no long work. None = not announced."""
        return self.core.draining

    def invoke(self, method: str, params: dict[str, Any], deadline: float | None = None) -> Coroutine[Any, Any, Any]:
        return self.core.call(method, params, deadline)

    def event(self) -> asyncio.Event:
        return asyncio.Event()

    async def call(self, method: str, params: Mapping[str, Any] | None = None, *, deadline: float | None = None) -> Any:
        """Calls a method by its name, with params as on the wire. Metadata such as _request_id may be among them."""
        return await self.core.call(method, dict(params or {}), deadline)

    def limit(
        self,
        rule: str,
        key: str,
        *,
        cost: int = 1,
        wait: float = 0.0,
        group: str | None = None,
        pool: str | None = None,
        fail_mode: str | None = None,
    ) -> AsyncLimitGrant:
        """Takes cost from a limit, by `await` or in `async with`; within wait seconds, or Limited is raised. See Client.limit."""
        return AsyncLimitGrant(self, _limit_params(rule, key, cost, wait, group, pool, fail_mode))

    def limited(
        self, rule: str, key: str | Callable[..., str], *, cost: int = 1, wait: float = 0.0
    ) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R]]]:
        """Makes a coroutine function ask a limit before each call. See Client.limited."""

        def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
            @functools.wraps(function)
            async def limited(*args: P.args, **kwargs: P.kwargs) -> R:
                async with self.limit(rule, _key_of(key, args, kwargs), cost=cost, wait=wait):
                    return await function(*args, **kwargs)

            return limited

        return decorate

    async def connect(self) -> None:
        """Waits for the sidecar, within deadline, or raises ConnectError."""
        await self.core.connect()

    async def aclose(self) -> None:
        """Closes the connection, so that the sidecar gives back its leases. Calls in flight raise ClosedError."""
        await self.core.close()

    async def __aenter__(self) -> Self:
        try:
            await self.core.connect()
        except BaseException:
            await self.core.close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.core.close()


class _Runner:
    """An event loop on a thread of its own, in one process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.selector = selectors.DefaultSelector()
        self.loop = asyncio.SelectorEventLoop(self.selector)
        self.executor: concurrent.futures.ThreadPoolExecutor | None = None  # runs on_event
        self.thread = threading.Thread(target=self._serve, name="coxswain", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    async def _close(self, core: Core) -> None:
        await core.close()
        if self.executor is not None:
            self.executor.shutdown(wait=False)
        # The calls of other threads end now, but not all in the same turn of the loop. A thread whose call is left would wait for ever.
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=2 * LONGEST_PAUSE)
        self.loop.stop()

    def stop(self, core: Core) -> None:
        """Closes the connection and ends the thread, in the process that started it."""
        if self.pid != os.getpid() or self.loop.is_closed():
            return
        closing = self._close(core)
        if threading.current_thread() is self.thread:  # the client was garbage-collected on it; joining would deadlock
            self.closing = self.loop.create_task(closing)
        else:
            asyncio.run_coroutine_threadsafe(closing, self.loop)
            self.thread.join()


class _Job(Generic[R]):
    """A coroutine on the loop, and the thread that waits for its result.

    The thread waits for a bare lock: an exception of a signal handler, which may come within any call of Python code, would leave the
    lock of a concurrent.futures.Future locked, and the loop would wait for it for ever.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, R], undo: Callable[[R], object] | None, cancels: bool) -> None:
        self._coroutine = coroutine
        self._undo = undo
        self._cancels = cancels
        self._left = False  # the thread does not wait any more
        self._task: asyncio.Task[R] | None = None
        self._over = False
        self._ended = threading.Lock()
        self._ended.acquire()

    def wait(self, loop: asyncio.AbstractEventLoop) -> R:
        try:
            loop.call_soon_threadsafe(self._start)
            self._ended.acquire()
            assert self._task is not None
            return self._task.result()
        except BaseException:
            if not self._over or self._has_result():
                loop.call_soon_threadsafe(self._leave)
            raise
        finally:
            del self  # which refers to the exception, which refers to this frame

    def _has_result(self) -> bool:
        return self._task is not None and not self._task.cancelled() and self._task.exception() is None

    # The loop calls these.

    def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._coroutine)
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[R]) -> None:
        self._over = True
        if self._left:
            self._undo_result()
        self._ended.release()

    def _leave(self) -> None:
        """The wait was interrupted."""
        self._left = True
        if self._over:
            self._undo_result()
        elif self._task is None:  # even before it was started
            self._coroutine.close() if self._cancels else self._start()
        elif self._cancels:
            self._task.cancel()

    def _undo_result(self) -> None:
        if self._undo is not None and self._task is not None and self._has_result():
            self._undo(self._task.result())


class Client:
    """A client of the sidecar for threads, with one connection for all of them.

    client: the name that is shown for the locks it holds; None = the name of the program
    socket: the path of the sidecar's socket; None = $COXSWAIN_SOCKET, else /run/coxswain/sidecar.sock
    deadline: seconds for a call that gives none, in addition to its wait
    on_event: called with the method and the params of every notification that belongs to no subscription, such as lock.lost, on a thread
        of its own, so that it may make calls

    It connects with the first call, or when it is entered with `with`, and again whenever the connection breaks. A child of a fork
    gets a connection of its own with its first call.
    """

    def __init__(
        self,
        client: str | None = None,
        socket: str | os.PathLike[str] | None = None,
        *,
        deadline: float = 5.0,
        on_event: Callable[[str, dict[str, Any]], None] | None = None,
        version: str = __version__,
    ) -> None:
        self._lock = threading.Lock()  # guards _runner
        self._runner: _Runner | None = None
        self._closed = False
        relay = None if on_event is None else _relay(weakref.ref(self), on_event)
        self.core = Core(client or os.path.basename(sys.argv[0]) or "python", None if socket is None else os.fspath(socket), version, deadline, relay)
        self.lock = n.LockNoun(self)
        self.semaphore = n.SemaphoreNoun(self)
        self.pool = n.PoolNoun(self)
        self.permit = n.PermitNoun(self)
        self.queue = n.QueueNoun(self)
        self.seen = n.SeenNoun(self)
        self.breaker = n.BreakerNoun(self)
        self.stream = n.StreamNoun(self)
        self.pubsub = n.PubsubNoun(self)
        self.ratelimit = m.RatelimitMethods(self.invoke)
        self.session = m.SessionMethods(self.invoke)
        self.events = m.EventsMethods(self.invoke)
        self.health = m.HealthMethods(self.invoke)
        self.inspect = m.InspectMethods(self.invoke)
        self.rpc = m.RpcMethods(self.invoke)
        _clients.add(self)

    @property
    def draining(self) -> float | None:
        """When the pod ends, as Unix time, once the sidecar has announced it: finish the work and start no long work. None = not announced."""
        return self.core.draining

    def run(self, coroutine: Coroutine[Any, Any, R], undo: Callable[[R], object] | None = None) -> R:
        """Runs a coroutine of the client on its loop, and waits for its result.

        An exception that interrupts the wait, such as KeyboardInterrupt, cancels the coroutine. If it has a result already, undo, if
        there is one, is called with that, on the loop.
        """
        return self._wait(coroutine, undo, cancels=True)

    def finish(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Is run for a coroutine that ends something, and therefore goes on if the wait is interrupted."""
        return self._wait(coroutine, None, cancels=False)

    def _wait(self, coroutine: Coroutine[Any, Any, R], undo: Callable[[R], object] | None, cancels: bool) -> R:
        try:
            runner = self._running()
            if threading.current_thread() is runner.thread:
                raise RuntimeError("a call on the client's own thread would wait for itself: make it on another thread")
        except BaseException:
            coroutine.close()
            raise
        return _Job(coroutine, undo, cancels).wait(runner.loop)

    def submit(self, coroutine: Coroutine[Any, Any, R]) -> concurrent.futures.Future[R]:
        """Runs a coroutine of the client on its loop. Callbacks of the future run on the loop's thread, and must not block it."""
        try:
            runner = self._running()
        except BaseException:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, runner.loop)

    def _running(self) -> _Runner:
        runner = self._runner
        if runner is None:
            with self._lock:
                if self._closed:
                    raise ClosedError("the client is closed")
                runner = self._runner
                if runner is None:
                    runner = self._runner = _Runner()
                    weakref.finalize(self, runner.stop, self.core)
        return runner

    def _reset_in_child(self) -> None:
        """Resets the client in a child of a fork. Closing the selector here does not change the parent's."""
        self._lock = threading.Lock()
        if self._runner is not None:
            self._runner.selector.close()
            self.core._of_parent.append(self._runner)
            self._runner = None

    def invoke(self, method: str, params: dict[str, Any], deadline: float | None = None) -> Any:
        return self.run(self.core.call(method, params, deadline))

    def event(self) -> threading.Event:
        return threading.Event()

    def call(self, method: str, params: Mapping[str, Any] | None = None, *, deadline: float | None = None) -> Any:
        """Calls a method by its name, with params as on the wire. Metadata such as _request_id may be among them."""
        return self.invoke(method, dict(params or {}), deadline)

    def limit(
        self,
        rule: str,
        key: str,
        *,
        cost: int = 1,
        wait: float = 0.0,
        group: str | None = None,
        pool: str | None = None,
        fail_mode: str | None = None,
    ) -> LimitGrant:
        """Takes cost from a limit, or raises Limited.

        rule: the name of the rule
        key: what the limit counts, such as a host
        wait: seconds to wait for a slot, first come, first served, at most 60; if the slot is further away, the call is refused at once
        group: is counted instead of the key
        pool: the pool whose member the key names
        fail_mode: how the call is decided while Redis does not reply: closed, open or local; None = the rule's

        Under a rule with max_concurrent use it in `with`, which gives its permit back at the end.
        """
        grant = LimitGrant(self, _limit_params(rule, key, cost, wait, group, pool, fail_mode))
        self.run(grant._ask(), grant._return)
        return grant

    def limited(
        self, rule: str, key: str | Callable[..., str], *, cost: int = 1, wait: float = 0.0
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Makes a function ask a limit before each call, and raise Limited if the limit refuses.

        key: what the limit counts, or a function of the call's arguments that returns it
        """

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            if inspect.iscoroutinefunction(function):
                raise TypeError(f"{function.__qualname__} is a coroutine function: decorate it by AsyncClient.limited")

            @functools.wraps(function)
            def limited(*args: P.args, **kwargs: P.kwargs) -> R:
                with self.limit(rule, _key_of(key, args, kwargs), cost=cost, wait=wait):
                    return function(*args, **kwargs)

            return limited

        return decorate

    def connect(self) -> None:
        """Waits for the sidecar, within deadline, or raises ConnectError."""
        self.run(self.core.connect())

    def close(self) -> None:
        """Closes the connection, so that the sidecar gives back its leases. Calls in flight raise ClosedError."""
        with self._lock:
            self._closed = True
            runner, self._runner = self._runner, None
        if runner is not None:
            runner.stop(self.core)

    def __enter__(self) -> Self:
        try:
            self.connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _relay(client: weakref.ref[Client], on_event: Callable[[str, dict[str, Any]], None]) -> OnEvent:
    """Returns a coroutine function that calls on_event on a thread of its own, where it may block."""

    async def relay(method: str, params: dict[str, Any]) -> None:
        alive = client()
        if alive is None or (runner := alive._runner) is None:
            return
        if runner.executor is None:
            runner.executor = concurrent.futures.ThreadPoolExecutor(1, "coxswain-events")
        del alive
        await asyncio.get_running_loop().run_in_executor(runner.executor, on_event, method, params)

    return relay


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _in_child() -> None:
    for client in list(_clients):
        client._reset_in_child()


os.register_at_fork(after_in_child=_in_child)
