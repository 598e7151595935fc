"""One connection to the sidecar, which is one session there.

Everything here runs on the event loop of the connection. Frames of one turn of the loop leave in one write. Replies are given to
their callers as they are read, and no code of the program runs between them, so that it cannot block the reader.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import msgpack

from ._errors import Broken, CoxswainError, DeadlineExceeded, InvalidArgument, Overloaded, read_error

# How many bytes may wait to be sent while the sidecar does not read.
MAX_QUEUE_BYTES = 8 << 20
# The connection is closed when the sidecar has read nothing for so many seconds.
WRITE_TIMEOUT = 10.0
# The most bytes of an unfinished frame; the sidecar's frames are far smaller.
MAX_FRAME_BYTES = 64 << 20
# The most bytes of notifications that are kept for subscriptions whose answer was not read yet.
MAX_EARLY_BYTES = 8 << 20
# The reason of the nack of a message that the program did not take.
NOT_PROCESSED = "the consumer ended before it processed the message"

_pack = msgpack.Packer(unicode_errors="surrogateescape").pack


class Subscriber(Protocol):
    """Receives the notifications of one subscription on one connection."""

    def began(self, sub: str) -> None:
        """The sidecar has answered with the id of the subscription. Its notifications follow."""

    def receive(self, method: str, params: dict[str, Any]) -> None:
        """Takes a notification. It must not wait."""

    def ended(self) -> None:
        """The connection has ended: no notification follows."""


class Held(Protocol):
    """A lease that a call may acquire. The program has it too, so that the methods which the connection calls are private."""

    def _bind(self, conn: Connection) -> None:
        """Called when the acquisition is sent: the validity of its grant counts from here."""

    def _note_token(self, conn: Connection, result: dict[str, Any]) -> None:
        """Records the token that the sidecar made, before a notification of its loss can be read."""

    def _give_back_late(self, conn: Connection, result: dict[str, Any]) -> None:
        """Gives back a grant that arrives after its caller has gone."""

    def _lose(self, reason: str) -> None:
        """The lease is lost, by a notification or by the end of the connection."""


class Unwatched:
    """The methods of Held for what the sidecar alone watches: the client only gives back what came for nobody."""

    def _bind(self, conn: Connection) -> None:
        pass

    def _note_token(self, conn: Connection, result: dict[str, Any]) -> None:
        pass

    def _lose(self, reason: str) -> None:
        pass


class Call:
    """A request, which may be sent on several connections one after the other."""

    __slots__ = ("deadline", "future", "lease", "method", "msgid", "opens", "own_deadline", "params", "sent", "waits")

    def __init__(
        self, method: str, params: dict[str, Any], deadline: float, waits: bool, lease: Held | None = None, opens: Opening | None = None
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
    """The subscriber of a call that subscribes, and the methods that end the subscription and give a message of it back."""

    def __init__(self, to: Subscriber, unsubscribe: str, give_back: str = "") -> None:
        self.to = to
        self.unsubscribe = unsubscribe
        self.give_back = give_back


class _Refusal:
    """Gives back the messages of a subscription whose caller has gone: otherwise they would stay with the connection."""

    def __init__(self, conn: Connection, give_back: str) -> None:
        self._conn = conn
        self._give_back = give_back

    def began(self, sub: str) -> None:
        pass

    def receive(self, method: str, params: dict[str, Any]) -> None:
        if method == "stream.message":
            message = {key: params[key] for key in ("stream", "group", "id")}
            self._conn._send_unawaited(self._give_back, {**message, "delay_ms": 0, "reason": NOT_PROCESSED})

    def ended(self) -> None:
        pass


class Connection(asyncio.Protocol):
    """Sends calls and reads their replies until fail."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, on_event: Callable[[str, Any], None]) -> None:
        self.loop = loop
        self.sock = sock
        self.dead: asyncio.Future[None] = loop.create_future()
        self.error: str | None = None
        self.held: dict[str, Held] = {}  # by token
        self.session = ""
        self.max_frame = 0  # 0 = not known
        self.max_running = 1 << 30
        self._on_event = on_event
        self._transport: asyncio.Transport
        self._unpacker = msgpack.Unpacker(strict_map_key=False, max_buffer_size=MAX_FRAME_BYTES, unicode_errors="surrogateescape")
        self._pending: dict[int, Call] = {}
        self._last_id = 0
        self._running = 0  # pending calls that the sidecar counts as in flight
        self._queue: deque[Call] = deque()  # calls that wait until the sidecar can run one more
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._given = 0  # bytes that were passed to the transport
        self._blocked: asyncio.TimerHandle | None = None
        self._sweep_at = math.inf
        self._sweeper: asyncio.TimerHandle | None = None
        self._subs: dict[str, Subscriber] = {}
        self._unanswered = 0  # calls that subscribe and have no answer yet
        self._early: list[tuple[str, str, dict[str, Any]]] = []
        self._early_bytes = 0

    # Sending.

    def submit(self, call: Call) -> asyncio.Future[Any]:
        """Sends a call, now or when the sidecar can run one more. The future gets its result."""
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
            # Rounded up: the sidecar then may give up slightly late, but 0 would mean no deadline.
            call.params["_deadline_ms"] = max(math.ceil((call.deadline - self.loop.time()) * 1000), 1)
        frame = _pack((0, msgid, call.method, (call.params,)))
        if len(frame) > self.max_frame > 0:
            # The sidecar would close the connection, which ends all other calls on it.
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
        """Ends the connection if the sidecar has read nothing since the last check, by which it had read before bytes (-1: no check yet)."""
        read = self._given - self._transport.get_write_buffer_size()
        if read == before:
            self.fail(f"the sidecar did not read its socket for {WRITE_TIMEOUT:g} s")
        else:
            self._blocked = self.loop.call_later(WRITE_TIMEOUT, self._watch, read)

    def resume_writing(self) -> None:
        if self._blocked:
            self._blocked.cancel()
            self._blocked = None

    # Calls that end without a reply.

    def abandon(self, call: Call) -> None:
        """Gives up a call whose caller has gone. A grant that arrives later is given back."""
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
                    if call.lease is None and call.opens is None and not call.future.done():  # nearly all calls
                        if frame[2] is None:
                            call.future.set_result(frame[3])
                        else:
                            call.future.set_exception(read_error(call.method, frame[2]))
                    else:
                        self._answer(call, frame[2], frame[3])
                elif frame[0] == 2:
                    params = frame[2]
                    self._notified(frame[1], params[0] if isinstance(params, list) and params else params or {})
                else:
                    raise ValueError("a frame that is neither a reply nor a notification")
        except Exception as e:  # any exception: after a malformed frame the rest of the stream cannot be trusted
            self.fail(f"the sidecar sent a malformed frame: {e!r}")
            return
        while self._queue and self._running < self.max_running:
            call = self._queue.popleft()
            try:
                self._send(call)
            except Exception as e:
                if not call.future.done():
                    call.future.set_exception(e)

    def _answer(self, call: Call, error: Any, result: Any) -> None:
        if error is None and call.lease is not None and not call.future.done():
            call.lease._note_token(self, result)
        if call.opens is not None:
            self._unanswered -= 1
            if error is None:
                gone = call.future.done()
                self._attach(_Refusal(self, call.opens.give_back) if gone else call.opens.to, result["subscription"])
            if self._unanswered == 0:
                self._early, self._early_bytes = [], 0
        if call.future.done():  # the caller has gone
            if error is None:
                self._undo(call, result)
        elif error is None:
            call.future.set_result(result)
        else:
            call.future.set_exception(read_error(call.method, error))

    def _undo(self, call: Call, result: Any) -> None:
        """Gives back what a reply grants to a caller that has gone."""
        if call.lease is not None:
            call.lease._give_back_late(self, result)
        if call.opens is not None:
            sub = result["subscription"]
            self._subs[sub] = _Refusal(self, call.opens.give_back)
            self._send_unawaited(call.opens.unsubscribe, {"subscription": sub}).add_done_callback(lambda _: self.detach(sub))

    def _send_unawaited(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        """Sends a call whose result nobody waits for."""
        call = Call(method, params, self.loop.time() + 5, False)
        call.future = self.loop.create_future()
        call.future.add_done_callback(lambda done: done.cancelled() or done.exception())  # asyncio logs an exception that is not read
        try:
            self._send(call)
        except CoxswainError as e:  # what it would have ended ends with the connection
            call.future.set_exception(e)
        return call.future

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        sub = params.get("subscription")
        if isinstance(sub, str):
            to = self._subs.get(sub)
            if to is not None:
                to.receive(method, params)
                return
            if self._unanswered:
                # Messages may arrive before the answer that has the id of their subscription.
                self._early.append((sub, method, params))
                self._early_bytes += len(params.get("body", b"")) + 256
                if self._early_bytes > MAX_EARLY_BYTES:
                    raise ValueError("more than 8 MiB of messages for a subscription before the answer that names it")
                return
        elif method.endswith(".lost"):
            lease = self.held.pop(params["token"], None)
            if lease is not None:
                lease._lose(params["reason"])
            for to in list(self._subs.values()):
                to.receive(method, params)
        self._on_event(method, params)

    def _attach(self, to: Subscriber, sub: str) -> None:
        self._subs[sub] = to
        to.began(sub)
        for known, method, params in self._early:
            if known == sub:
                to.receive(method, params)

    def detach(self, sub: str) -> None:
        """Stops passing on notifications of a subscription."""
        self._subs.pop(sub, None)

    # The end.

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(str(exc or "the sidecar closed it"))

    def fail(self, why: str, error: CoxswainError | None = None) -> None:
        """Ends the connection: its leases are lost, and its calls end with Broken, or with error if it is given."""
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
        # Leases before calls: an acquisition that is repeated binds its lease to the next connection as soon as its call here ends.
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
