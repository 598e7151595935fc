"""One connection to the sidecar, which is one session there.

Everything here runs on the event loop of the connection. Frames of one turn of the loop leave in one write; replies are given to
their callers as they are read, and nothing that a program does can hold the reader up.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgpack

from ._errors import Broken, CoxswainError, DeadlineExceeded, InvalidArgument, Overloaded, read_error

if TYPE_CHECKING:
    from ._lease import Lease

# Bytes that may wait while the sidecar does not read.
MAX_QUEUE_BYTES = 8 << 20
# Seconds for which the sidecar may read nothing before the connection is closed.
WRITE_TIMEOUT = 10.0
# Bytes of an unfinished frame, which the sidecar keeps far below.
MAX_FRAME_BYTES = 64 << 20
# Bytes that are kept for subscriptions whose answer has not come yet.
MAX_EARLY_BYTES = 8 << 20

_pack = msgpack.Packer(unicode_errors="surrogateescape").pack


class Subscriber(Protocol):
    """Hears one subscription of one connection."""

    def hear(self, method: str, params: dict[str, Any]) -> None:
        """Takes a notification. It must not wait."""

    def ended(self) -> None:
        """The connection has ended: nothing is heard after it."""


class Call:
    """A request, which may be sent on several connections one after the other."""

    __slots__ = ("deadline", "future", "lease", "method", "msgid", "opens", "own_deadline", "params", "sent", "waits")

    def __init__(
        self, method: str, params: dict[str, Any], deadline: float, waits: bool, lease: Lease | None = None, opens: Opening | None = None
    ) -> None:
        self.method = method
        self.params = params
        self.deadline = deadline  # by the loop's clock
        self.waits = waits
        self.lease = lease
        self.opens = opens
        self.own_deadline = "_deadline_ms" in params
        self.msgid = 0
        self.sent = False
        self.future: asyncio.Future[Any]


class Opening:
    """What a call subscribes to, and how that is ended again."""

    def __init__(self, to: Subscriber, unsubscribe: str) -> None:
        self.to = to
        self.unsubscribe = unsubscribe


class Connection(asyncio.Protocol):
    """Sends calls and reads their replies until fail."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, on_event: Callable[[str, Any], None]) -> None:
        self.loop = loop
        self.sock = sock
        self.dead: asyncio.Future[None] = loop.create_future()
        self.error: str | None = None
        self.held: dict[str, Lease] = {}  # by token
        self.session = ""
        self.max_frame = 0  # 0 = not known
        self.max_running = 1 << 30
        self._on_event = on_event
        self._transport: asyncio.Transport
        self._unpacker = msgpack.Unpacker(strict_map_key=False, max_buffer_size=MAX_FRAME_BYTES, unicode_errors="surrogateescape")
        self._pending: dict[int, Call] = {}
        self._last_id = 0
        self._running = 0  # of those pending, the ones that the sidecar counts
        self._queue: deque[Call] = deque()  # wait until it can run one more
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._given = 0  # bytes that the transport was given
        self._blocked: asyncio.TimerHandle | None = None
        self._sweep_at = math.inf
        self._sweeper: asyncio.TimerHandle | None = None
        self._subs: dict[str, Subscriber] = {}
        self._unanswered = 0  # calls that subscribe and have no answer
        self._early: list[tuple[str, str, dict[str, Any]]] = []
        self._early_bytes = 0

    # Sending.

    def submit(self, call: Call) -> asyncio.Future[Any]:
        """Sends a call, now or when the sidecar can run one more. The future has its result."""
        if self.error is not None:
            raise Broken(self.error, False)
        call.sent = False
        call.future = self.loop.create_future()
        if self._running >= self.max_running and not call.waits:
            self._queue.append(call)  # the sidecar would answer OVERLOADED
        else:
            self._send(call)
        if call.deadline < self._sweep_at:
            self._sweep_by(call.deadline)
        return call.future

    def _send(self, call: Call) -> None:
        if self._out_bytes > MAX_QUEUE_BYTES or (self._blocked and self._transport.get_write_buffer_size() > MAX_QUEUE_BYTES):
            raise Overloaded(f"{call.method}: the sidecar does not read its socket, and 8 MiB wait for it")
        msgid = self._last_id + 1 & 0xFFFFFFFF
        while msgid in self._pending:
            msgid = msgid + 1 & 0xFFFFFFFF
        self._last_id = call.msgid = msgid
        if not call.own_deadline:
            # Rounded up: a sidecar may give up a moment late, but 0 would mean no deadline.
            call.params["_deadline_ms"] = max(math.ceil((call.deadline - self.loop.time()) * 1000), 1)
        frame = _pack((0, msgid, call.method, (call.params,)))
        if len(frame) > self.max_frame > 0:
            # The sidecar would close the connection, and with it end the calls of others.
            raise InvalidArgument(
                f"{call.method}: the call takes {len(frame)} bytes and the sidecar takes {self.max_frame}: "
                "send less, or raise limits.max_frame_bytes"
            )
        self._pending[msgid] = call
        call.sent = True
        if not call.waits:
            self._running += 1
        if call.opens is not None:
            self._unanswered += 1
        if call.lease is not None:
            call.lease._bind(self)
        self._write(frame)

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification, which has no reply."""
        if self.error is None:
            self._write(_pack((2, method, (params,))))

    def _write(self, frame: bytes) -> None:
        if not self._out:
            self.loop.call_soon(self._flush)
        self._out.append(frame)
        self._out_bytes += len(frame)

    def _flush(self) -> None:
        if self._out:
            self._given += self._out_bytes
            self._transport.write(b"".join(self._out))
            self._out.clear()
            self._out_bytes = 0

    def pause_writing(self) -> None:
        self._watch(-1)

    def _watch(self, before: int) -> None:
        """Ends the connection if the sidecar has read nothing since it had read so many bytes."""
        read = self._given - self._transport.get_write_buffer_size()
        if read == before:
            self.fail(f"the sidecar did not read its socket for {WRITE_TIMEOUT:g} s")
        else:
            self._blocked = self.loop.call_later(WRITE_TIMEOUT, self._watch, read)

    def resume_writing(self) -> None:
        if self._blocked:
            self._blocked.cancel()
            self._blocked = None

    # Ends of calls that the sidecar does not end.

    def abandon(self, call: Call) -> None:
        """Gives a call up: its caller has gone. What it is granted later is given back."""
        if not call.sent:
            if call in self._queue:
                self._queue.remove(call)
            return
        if call.msgid in self._pending:
            self._write(_pack((2, "rpc.cancel", (call.msgid,))))
        elif call.future.done() and not call.future.cancelled() and call.future.exception() is None:
            self._undo(call, call.future.result())  # the reply came at the same moment

    def _sweep_by(self, at: float) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._sweep_at = at
        self._sweeper = self.loop.call_at(at, self._sweep)

    def _sweep(self) -> None:
        """Ends the calls whose time is over. One timer serves all calls of the connection."""
        self._sweep_at, self._sweeper = math.inf, None
        now, following = self.loop.time(), math.inf
        for call in [*self._pending.values(), *self._queue]:
            if call.future.done():
                continue
            if call.deadline > now:
                following = min(following, call.deadline)
                continue
            call.future.set_exception(
                DeadlineExceeded(f"{call.method}: the sidecar did not answer in time", maybe_executed=call.sent)
            )
            self.abandon(call)
        if following < math.inf:
            self._sweep_by(following)

    # Reading.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        pending = self._pending
        try:
            self._unpacker.feed(data)
            for frame in self._unpacker:
                if frame[0] == 1:
                    call = pending.pop(frame[1])
                    if not call.waits:
                        self._running -= 1
                    if call.lease is None and call.opens is None and not call.future.done():  # nearly all
                        if frame[2] is None:
                            call.future.set_result(frame[3])
                        else:
                            call.future.set_exception(read_error(call.method, frame[2]))
                    else:
                        self._answer(call, frame[2], frame[3])
                elif frame[0] == 2:
                    params = frame[2]
                    self._hear(frame[1], params[0] if isinstance(params, list) and params else params or {})
                else:
                    raise ValueError("a frame that is neither a reply nor a notification")
        except Exception as e:  # whatever the bytes lead to: nothing behind them can be trusted
            self.fail(f"the sidecar sent what is not the protocol: {e!r}")
            return
        while self._queue and self._running < self.max_running:
            call = self._queue.popleft()
            try:
                self._send(call)
            except Exception as e:
                call.future.set_exception(e)

    def _answer(self, call: Call, error: Any, result: Any) -> None:
        if error is None and call.lease is not None and not call.future.done():
            call.lease._named(self, result)
        if call.opens is not None:
            self._unanswered -= 1
            if error is None and not call.future.done():
                self._meet(call.opens.to, result["subscription"])
            if self._unanswered == 0:
                self._early, self._early_bytes = [], 0
        if call.future.done():  # its caller has gone
            if error is None:
                self._undo(call, result)
        elif error is None:
            call.future.set_result(result)
        else:
            call.future.set_exception(read_error(call.method, error))

    def _undo(self, call: Call, result: Any) -> None:
        """Gives back what a reply grants for which nobody waits any more."""
        if call.lease is not None:
            call.lease._late(self, result)
        if call.opens is not None:
            self._subs.pop(result["subscription"], None)
            gone = Call(call.opens.unsubscribe, {"subscription": result["subscription"]}, self.loop.time() + 5, False)
            gone.future = self.loop.create_future()
            gone.future.cancel()
            self._send(gone)

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        sub = params.get("subscription")
        if isinstance(sub, str):
            to = self._subs.get(sub)
            if to is not None:
                to.hear(method, params)
                return
            if self._unanswered:
                # Messages may be read before the answer that names their subscription.
                self._early.append((sub, method, params))
                self._early_bytes += len(params.get("body", b"")) + 256
                if self._early_bytes > MAX_EARLY_BYTES:
                    raise ValueError("more than 8 MiB for a subscription before it is named")
                return
        elif method.endswith(".lost"):
            lease = self.held.pop(params["token"], None)
            if lease is not None:
                lease._lose(params["reason"])
            for to in list(self._subs.values()):
                to.hear(method, params)
        self._on_event(method, params)

    def _meet(self, to: Subscriber, sub: str) -> None:
        self._subs[sub] = to
        for known, method, params in self._early:
            if known == sub:
                to.hear(method, params)

    def silence(self, sub: str) -> None:
        """Hears no more of a subscription."""
        self._subs.pop(sub, None)

    # The end.

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(str(exc or "the sidecar closed it"))

    def fail(self, why: str, error: CoxswainError | None = None) -> None:
        """Ends the connection: its leases are lost, its calls end with Broken, or with the error that is given."""
        if self.error is not None:
            return
        self.error = why
        for timer in (self._sweeper, self._blocked):
            if timer is not None:
                timer.cancel()
        if hasattr(self, "_transport"):
            self._flush()
            self._transport.close()
            if self._blocked:
                self._transport.abort()
        held, self.held = self.held, {}
        # Leases before calls: who acquires binds its lease to the next connection as soon as the call ends.
        for lease in held.values():
            lease._lose("the connection ended: " + why)
        for to in self._subs.values():
            to.ended()
        for call in [*self._pending.values(), *self._queue]:
            if not call.future.done():
                call.future.set_exception(error or Broken(why, call.sent))
        self._pending.clear()
        self._queue.clear()
        if not self.dead.done():
            self.dead.set_result(None)
