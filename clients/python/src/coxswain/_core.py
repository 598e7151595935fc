"""What both clients share: reconnecting, repeating calls on the next connection, and events.

The invariant: every call ends within its deadline, and is executed at most once however often its connection breaks. A call is
repeated on the next connection only if it is idempotent or has a request id. Calls that are not idempotent get a request id,
except those in WITHOUT_ID.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import itertools
import logging
import os
import random
import secrets
import socket
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from ._conn import Call, Connection, Held, Opening
from ._errors import Broken, ClosedError, ConnectError, CoxswainError, Unavailable
from ._methods import IDEMPOTENT

log = logging.getLogger("coxswain")

DEFAULT_SOCKET = "/run/coxswain/sidecar.sock"
SOCKET_ENV = "COXSWAIN_SOCKET"
PROTOCOL = 1
# How often one call is sent at most. A call whose connection breaks each time may be the cause, and every broken connection loses
# the leases of other callers.
MAX_SENDS = 4
HELLO_TIMEOUT = 5.0
# After a connection that lasted so many seconds the pauses start over.
STABLE_AFTER = 1.0
# The pauses between attempts, in seconds, double from the first to the longest. Each varies at random by up to half of itself.
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0
# How many events wait for on_event; later ones are dropped.
EVENT_QUEUE = 256
# A Pub/Sub message may be lost but must not arrive twice, so its call is not repeated and does not pay for a stored reply.
WITHOUT_ID = frozenset({"pubsub.publish"})

OnEvent = Callable[[str, dict[str, Any]], Awaitable[None] | None]


class Core:
    """The state of one client in one process and on one event loop."""

    def __init__(self, client: str, path: str | None, version: str, deadline: float, on_event: OnEvent | None) -> None:
        self.path = path or os.environ.get(SOCKET_ENV) or DEFAULT_SOCKET
        self.deadline = deadline
        self.draining: float | None = None
        self.conn: Connection | None = None
        self._client = client
        self._version = version
        self._on_event = on_event
        self._closed = False
        self._refused: ConnectError | None = None  # why the last attempt to connect failed
        self._follows: dict[str, Any] | None = None  # the params of events.subscribe
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sock: socket.socket | None = None  # of the connection, also while it is being established
        self._tasks: list[asyncio.Task[None]] = []
        self._spawned: set[asyncio.Task[Any]] = set()
        self._id_prefix = ""
        self._ids: itertools.count[int]
        self._dropping = False
        self._of_parent: list[Any] = []  # objects of a parent process, kept alive since they must not be finalized here
        _cores.add(self)

    # The process and the loop that the client belongs to.

    def _start(self) -> asyncio.AbstractEventLoop:
        """Binds the client to the running loop, and starts to connect."""
        loop = asyncio.get_running_loop()
        if self._closed:
            raise ClosedError("the client is closed")
        if self._loop is loop:
            return loop
        if self._loop is not None:
            if self._loop.is_running():
                raise RuntimeError("an AsyncClient belongs to one event loop: make one in each, or use Client")
            if self.conn is not None:  # its loop ended without aclose
                self.conn.sock.close()
                self.conn.error = "its event loop has ended"
        self._loop = loop
        self.conn = None
        self._id_prefix, self._ids = secrets.token_hex(12) + "-", itertools.count(1)
        self._changed: asyncio.Future[None] = loop.create_future()
        self._events: deque[tuple[str, dict[str, Any]]] = deque()
        self._event_queued = asyncio.Event()
        self._tasks, self._spawned = [loop.create_task(self._keep(loop))], set()
        if self._on_event is not None:
            self._tasks.append(loop.create_task(self._deliver(self._on_event)))
        return loop

    def reset_in_child(self) -> None:
        """Resets the client in a child of a fork. It closes the child's copy of the parent's socket and sends nothing on it."""
        if self._sock is not None and (fd := self._sock.detach()) >= 0:
            socket.close(fd)
        if self.conn is not None:
            self.conn.error = "it belongs to the parent process"
        self._of_parent.append((self._loop, self._tasks, self._spawned, self.conn))
        self._loop, self.conn, self._tasks, self._spawned, self.draining, self._follows = None, None, [], set(), None, None

    async def close(self) -> None:
        """Closes the connection, so that the sidecar gives back its leases. Calls in flight end with ClosedError."""
        self._closed = True
        if self._loop is None or self._loop is not asyncio.get_running_loop():
            return
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if self.conn is not None:
            self.conn.fail("the client was closed", ClosedError("the client is closed"))
        self._wake()
        if ending := {*tasks, *self._spawned}:
            await asyncio.wait(ending)

    # Connecting.

    def _wake(self) -> None:
        """Wakes the calls that wait for a connection."""
        changed, self._changed = self._changed, self._changed.get_loop().create_future()
        if not changed.done():
            changed.set_result(None)

    async def _keep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Connects, and connects again when the connection breaks, until close."""
        pause = FIRST_PAUSE
        while True:
            began = loop.time()
            try:
                conn = await self._connect(loop)
            except (OSError, CoxswainError, Broken) as e:
                self._refused = e if isinstance(e, ConnectError) else self._explain(e)
                log.debug("%s", self._refused)
                self._wake()
            else:
                self.conn, self._refused = conn, None
                log.debug("connected to the sidecar at %s, session %s", self.path, conn.session)
                self._wake()
                try:
                    await conn.dead
                finally:
                    self.conn = None
                    conn.fail("its event loop has ended", ClosedError("the event loop of the client has ended"))
                log.warning("the connection to the sidecar at %s was lost: %s", self.path, conn.error)
                if loop.time() - began >= STABLE_AFTER:
                    pause = FIRST_PAUSE
            await asyncio.sleep(pause / 2 + random.random() * pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _explain(self, e: Exception) -> ConnectError:
        hopeless = False
        if isinstance(e, FileNotFoundError):
            remedy = f"is it running? start it with sidecar serve, or name its socket in {SOCKET_ENV}"
        elif isinstance(e, ConnectionRefusedError):
            remedy = "is it running? the socket's file is there and nobody listens on it"
        elif isinstance(e, PermissionError):
            hopeless = True
            remedy = "this user may not open the socket: join its group, or set socket.gid and socket.mode of the sidecar"
        elif isinstance(e, OSError) and ("too long" in str(e) or e.errno in (errno.EINVAL, errno.ENAMETOOLONG)):
            hopeless = True
            remedy = f"the path has {len(self.path)} bytes and a Unix socket takes about 100: choose a shorter one"
        else:
            remedy = "is it running, and is this its socket?"
        why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        return ConnectError(f"cannot reach the sidecar at {self.path}: {why}: {remedy}", hopeless=hopeless)

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> Connection:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)  # close-on-exec, as all sockets of Python
        self._sock = sock
        try:
            sock.setblocking(False)
            await loop.sock_connect(sock, self.path)
            conn = Connection(loop, sock, self._event)
            await loop.create_unix_connection(lambda: conn, sock=sock)
        except BaseException:
            sock.close()
            raise
        try:
            await self._hello(loop, conn)
            await self._resume(loop, conn)
        except BaseException as e:
            conn.fail(f"hello: {e}")
            raise
        if conn.error is not None:
            raise Broken(conn.error, False)
        return conn

    async def _hello(self, loop: asyncio.AbstractEventLoop, conn: Connection) -> None:
        hello = {
            "client": self._client,
            "version": self._version,
            "instance": f"{socket.gethostname()}/{os.getpid()}",
            "errors": "map",
        }
        r = await conn.submit(Call("session.hello", hello, loop.time() + HELLO_TIMEOUT, False))
        if r["protocol"] != PROTOCOL:
            raise ConnectError(
                f"cannot reach the sidecar at {self.path}: {r['server']} {r['version']} speaks protocol {r['protocol']} "
                f"and this client speaks protocol {PROTOCOL}: install the version of the client that matches the sidecar",
                hopeless=True,
            )
        conn.session = r["session"]
        conn.max_frame, conn.max_running = r["limits"]["max_frame_bytes"], max(r["limits"]["max_inflight"], 1)

    async def _resume(self, loop: asyncio.AbstractEventLoop, conn: Connection) -> None:
        """Subscribes a new connection to the events that the program subscribed to, before calls can use it."""
        if self._follows is None:
            return
        self._event("events.gap", {"reason": "reconnected"})
        try:
            await conn.submit(Call("events.subscribe", dict(self._follows), loop.time() + HELLO_TIMEOUT, False))
        except CoxswainError as e:
            log.warning("the subscription to events was not renewed, so that on_event gets no more of them: %s", e)
            self._event("events.gap", {"reason": "refused", "error": str(e)})

    async def pick(self, end: float, give_up: bool = False) -> Connection:
        """Waits for a connection until end, by the loop's clock; with give_up only while another attempt may succeed."""
        self._start()
        try:
            async with asyncio.timeout_at(end):
                while self.conn is None:
                    if give_up and self._refused is not None and self._refused.hopeless:
                        raise self._refused
                    await asyncio.shield(self._changed)
                    if self._closed:
                        raise ClosedError("the client is closed")
        except TimeoutError:
            raise self._refused or self._explain(Exception("no answer yet")) from None
        return self.conn

    async def connect(self) -> None:
        """Waits for the sidecar, within the client's deadline; fails at once if another attempt cannot succeed."""
        loop = self._start()
        await self.pick(loop.time() + self.deadline, give_up=True)

    # Calling.

    async def call(self, method: str, params: dict[str, Any], deadline: float | None = None) -> Any:
        """Calls a method. The call may change params."""
        result = await self.invoke(method, params, deadline)
        if method == "events.subscribe":
            self._follows = {k: v for k, v in params.items() if not k.startswith("_")}
        elif method == "events.unsubscribe":
            self._follows = None
        return result

    async def invoke(
        self,
        method: str,
        params: dict[str, Any],
        deadline: float | None = None,
        *,
        lease: Held | None = None,
        opens: Opening | None = None,
        on: Connection | None = None,
        outlives: bool = False,
    ) -> Any:
        """Executes a call, on several connections if they break; with on, only on that connection.

        outlives: whether a call that was passed to a connection goes on if its caller is cancelled
        """
        loop = self._loop
        if loop is None or loop is not asyncio.get_running_loop() or self._closed:
            loop = self._start()
        wait = params.get("wait_ms") or 0
        end = loop.time() + (deadline if deadline is not None else self.deadline + wait / 1000)
        repeatable = method in IDEMPOTENT
        if not repeatable:
            given = params.get("_request_id")
            if given is None and method not in WITHOUT_ID:
                params["_request_id"] = f"{self._id_prefix}{next(self._ids):x}"
                repeatable = True
            elif given:
                repeatable = True
            elif given is not None:  # an empty id means that the call has none
                del params["_request_id"]
        call = Call(method, params, end, wait > 0, lease, opens)
        sends = 0
        while True:
            conn = on or self.conn or await self.pick(end)
            try:
                future = conn.submit(call)
                try:
                    return await future
                except asyncio.CancelledError:
                    if not outlives:
                        conn.abandon(call)
                    raise
            except Broken as e:
                if self._closed:
                    raise ClosedError("the client is closed") from None
                sends += e.sent
                if e.sent and not repeatable and opens is None:  # a subscription has ended with its connection
                    raise Unavailable(f"{method}: maybe executed: {e}", maybe_executed=True) from None
                if on is not None:
                    raise
                if sends == MAX_SENDS:
                    raise Unavailable(f"{method}: {e}, {sends} times in a row", maybe_executed=True) from None
                if conn is self.conn:
                    self.conn = None

    async def settle(self, method: str, params: dict[str, Any], on: Connection | None = None) -> Any:
        """Is invoke for a call that ends something: if its caller is cancelled, it is executed all the same.

        Otherwise a second cancellation would leave what was taken to the session, which keeps it as long as the client runs.
        """
        try:
            return await self.invoke(method, params, on=on, outlives=True)
        except asyncio.CancelledError:
            # It may not have been sent, and its connection may break; a second execution does nothing.
            self.spawn(self.invoke(method, params))
            raise

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Runs a coroutine that ends with its calls, so that the cancellation of its caller does not stop it."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._spawned.add(task)  # the loop has only a weak reference
        task.add_done_callback(self._spawned.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # asyncio logs an exception that is not read
        return task

    # Events.

    def _event(self, method: str, params: dict[str, Any]) -> None:
        if method == "session.draining":
            self.draining = params["deadline_at_ms"] / 1000
        if self._on_event is None:
            return
        if len(self._events) >= EVENT_QUEUE:
            if not self._dropping:
                log.warning("events are dropped, beginning with %s: on_event is too slow", method)
            self._dropping = True
            return
        self._events.append((method, params))
        self._event_queued.set()

    async def _deliver(self, on_event: OnEvent) -> None:
        """Calls on_event for each event, one after the other."""
        while True:
            await self._event_queued.wait()
            self._event_queued.clear()
            while self._events:
                method, params = self._events.popleft()
                try:
                    result = on_event(method, params)
                    if inspect.isawaitable(result):
                        await result
                except Exception:
                    log.exception("on_event failed for %s", method)
            self._dropping = False


_cores: weakref.WeakSet[Core] = weakref.WeakSet()


def _in_child() -> None:
    for core in list(_cores):
        core.reset_in_child()


os.register_at_fork(after_in_child=_in_child)
