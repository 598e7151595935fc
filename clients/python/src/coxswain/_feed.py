"""Subscriptions to streams and to Pub/Sub. A subscription goes on when its connection breaks and another one is made.

The messages that the program has not taken are bounded: those of a stream by prefetch, in the sidecar; those of Pub/Sub here, where
messages that do not fit are dropped and counted. So a slow consumer delays neither replies nor other subscriptions.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, Self, TypeVar
from urllib.parse import unquote

from ._conn import NOT_PROCESSED, Connection, Opening
from ._core import FIRST_PAUSE, LONGEST_PAUSE, Core
from ._errors import Broken, ClosedError, CoxswainError, DeadlineExceeded, LostError, Unavailable

log = logging.getLogger("coxswain")

# The most bytes of messages of one Pub/Sub subscription that wait for the program.
MAX_FEED_BYTES = 8 << 20
# The most bytes of the reason of a nack.
MAX_REASON = 1000

M = TypeVar("M")


class Subscription(Generic[M]):
    """Takes messages of one subscription, and subscribes again when the connection breaks."""

    _subscribe: str
    _unsubscribe: str
    _give_back = ""  # the method that gives a message back, if messages are leased

    def __init__(self, portal: Any, params: dict[str, Any]) -> None:
        self._portal = portal
        self._core: Core = portal.core
        self._params = {k: v for k, v in params.items() if v is not None}
        self._queue: deque[M] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._more: asyncio.Event
        self._opens: asyncio.Lock
        self._conn: Connection | None = None
        self._id = ""
        self._closed = False

    # The connection calls these.

    def began(self, sub: str) -> None:
        # Here and not in the code that waits for the answer: the first message may be read together with it.
        again, self._id = self._id != "", sub
        if again:
            self._reopened()

    def receive(self, method: str, params: dict[str, Any]) -> None:
        raise NotImplementedError

    def ended(self) -> None:
        self._conn = None
        self._wake()

    def _wake(self) -> None:
        self._more.set()

    # Subscribing.

    async def _open(self) -> None:
        opening = Opening(self, self._unsubscribe, self._give_back)
        again, pause = self._id != "", FIRST_PAUSE
        loop = asyncio.get_running_loop()
        end = loop.time() + self._core.deadline
        while True:
            try:
                conn = await self._core.pick(loop.time() + self._core.deadline)
                # Without a request id: a stored reply would name a subscription that ended with its connection.
                params = {**self._params, "_request_id": ""}
                self._conn = conn
                await self._core.invoke(self._subscribe, params, opens=opening, on=conn)
                if conn.error is None:
                    return
            except Broken as e:
                if not again and loop.time() >= end:
                    raise Unavailable(f"{self._subscribe}: {e}") from None
            except ClosedError:
                raise
            except CoxswainError as e:
                if not again or not (e.retryable or isinstance(e, DeadlineExceeded)):
                    raise
                log.debug("cannot subscribe again, trying later: %s", e)
            self._conn = None
            await asyncio.sleep(pause / 2 + random.random() * pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _reopened(self) -> None:
        """Called when the subscription goes on, on another connection, before its messages are received."""

    def _begin(self) -> None:
        """Resets the subscription if the loop has changed. Messages that came on another loop belong to it, perhaps in the parent process."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._more, self._opens = loop, asyncio.Event(), asyncio.Lock()
            self._conn, self._id = None, ""
            self._abandon()

    def _abandon(self) -> None:
        """Forgets the messages that came."""
        self._queue.clear()

    async def _ready(self) -> None:
        """Subscribes unless the subscription exists."""
        if self._closed:
            raise ClosedError("the subscription was closed")
        self._begin()
        if self._conn is None:
            async with self._opens:  # one of several tasks that wait subscribes
                if self._conn is None:
                    try:
                        await self._open()
                    except BaseException:
                        conn, self._conn = self._conn, None
                        self._wake()
                        if conn is not None and self._queue:  # cancelled when the answer had come, and messages with it
                            self._core.spawn(self._left(conn))
                        raise

    async def _next(self, timeout: float | None = None) -> M:
        self._begin()
        async with asyncio.timeout(timeout):
            while True:
                if self._queue and not self._closed:
                    return self._taken(self._queue.popleft())
                await self._ready()
                self._more.clear()
                self._idle()
                if not self._queue and self._conn is not None:
                    await self._more.wait()

    def _taken(self, message: M) -> M:
        return message

    def _untaken(self, message: M) -> None:
        """Puts back a message that its caller does not get."""
        self._queue.appendleft(message)
        self._wake()

    def _idle(self) -> None:
        """Called when the program has taken all messages that came."""

    async def _close(self) -> None:
        if self._closed:
            return
        self._begin()
        self._closed = True
        conn, self._conn = self._conn, None
        self._wake()
        if conn is not None and conn.error is None:
            # Messages that are not given back would stay with the connection, also if the caller is cancelled.
            await asyncio.shield(self._core.spawn(self._part(conn)))

    async def _part(self, conn: Connection) -> None:
        try:
            await self._core.invoke(self._unsubscribe, {"subscription": self._id}, on=conn)
        except (CoxswainError, Broken) as e:
            log.debug("unsubscribing failed; the subscription ends with the connection: %s", e)
        await self._left(conn)
        conn.detach(self._id)

    async def _left(self, conn: Connection) -> None:
        """Gives back or drops the messages that the program has not taken."""
        self._queue.clear()


class SyncIteration(Subscription[M]):
    """A subscription of Client: iterate it, or get one message at a time; close it, or use it in `with`."""

    def get(self, timeout: float | None = None) -> M:
        """Returns the next message. It waits for at most timeout seconds, and then raises TimeoutError."""
        message: M = self._portal.run(self._next(timeout), self._untaken)
        return message

    def subscribe(self) -> None:
        """Subscribes now rather than when the first message is asked for."""
        self._portal.run(self._ready())

    def close(self) -> None:
        """Ends the subscription."""
        self._portal.finish(self._close())

    def __iter__(self) -> Iterator[M]:
        try:
            while True:
                yield self.get()
        except ClosedError:
            if not self._closed:
                raise
        finally:
            self.close()

    def __enter__(self) -> Self:
        self.subscribe()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class AsyncIteration(Subscription[M]):
    """A subscription of AsyncClient: iterate it, or get one message at a time; close it, or use it in `async with`."""

    async def get(self, timeout: float | None = None) -> M:
        """Returns the next message. It waits for at most timeout seconds, and then raises TimeoutError."""
        return await self._next(timeout)

    async def subscribe(self) -> None:
        """Subscribes now rather than when the first message is asked for."""
        await self._ready()

    async def aclose(self) -> None:
        """Ends the subscription."""
        await self._close()

    async def __aiter__(self) -> AsyncIterator[M]:
        try:
            while True:
                yield await self._next()
        except ClosedError:
            if not self._closed:
                raise
        finally:
            await self._close()

    async def __aenter__(self) -> Self:
        await self.subscribe()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


# Pub/Sub.


class PubsubMessage:
    """A message of a channel.

    missed: how many messages were dropped right before this one and not reported to on_gap already; -1 = not known, since the sidecar
        or Redis was not reached for a while
    """

    __slots__ = ("body", "channel", "missed", "pattern")

    def __init__(self, params: dict[str, Any]) -> None:
        self.channel: str = params["channel"]
        self.pattern: str | None = params.get("pattern")
        self.body: bytes = params["body"]
        self.missed = 0

    def __repr__(self) -> str:
        return f"<PubsubMessage {self.channel!r} {len(self.body)} bytes>"


class _Pubsub(Subscription[PubsubMessage]):
    _subscribe, _unsubscribe = "pubsub.subscribe", "pubsub.unsubscribe"

    def __init__(self, portal: Any, params: dict[str, Any], on_gap: Callable[[int], None] | None) -> None:
        super().__init__(portal, params)
        self._most: int = self._params.get("buffer", 1000)
        self._bytes = 0
        self._missed = 0  # since the last message that was queued
        self._on_gap = on_gap

    def receive(self, method: str, params: dict[str, Any]) -> None:
        if method == "pubsub.gap":
            self._gap(params["dropped"])
        elif method == "pubsub.message":
            message = PubsubMessage(params)
            size = len(message.body) + len(message.channel)
            if len(self._queue) >= self._most or (self._queue and self._bytes + size > MAX_FEED_BYTES):
                self._gap(1)
                return
            message.missed, self._missed = self._missed, 0
            self._bytes += size
            self._queue.append(message)
            self._wake()

    def _gap(self, dropped: int) -> None:
        # An unknown number plus a known one is unknown.
        self._missed = -1 if dropped < 0 or self._missed < 0 else self._missed + dropped
        self._wake()

    def _reopened(self) -> None:
        self._gap(-1)

    def _taken(self, message: PubsubMessage) -> PubsubMessage:
        self._bytes -= len(message.body) + len(message.channel)
        if message.missed and self._on_gap is not None:
            self._on_gap(message.missed)
        return message

    def _untaken(self, message: PubsubMessage) -> None:
        self._bytes += len(message.body) + len(message.channel)
        super()._untaken(message)

    def _idle(self) -> None:
        if self._missed and self._on_gap is not None and not self._queue:
            missed, self._missed = self._missed, 0
            self._on_gap(missed)


class PubsubSubscription(_Pubsub, SyncIteration[PubsubMessage]):
    """Messages of channels, each at most once."""


class AsyncPubsubSubscription(_Pubsub, AsyncIteration[PubsubMessage]):
    """Messages of channels, each at most once."""


# Streams.


class StreamDelivery:
    """A message that was delivered: acknowledge it, by ack or by using it in a `with` block.

    lost: an event that is set when another consumer may have the message
    """

    def __init__(self, feed: Any, params: dict[str, Any]) -> None:
        self._feed: _Stream[Any] = feed
        self._pid = os.getpid()
        self._conn: Connection | None = feed._conn
        self.stream: str = params["stream"]
        self.group: str = params["group"]
        self.id: str = params["id"]
        self.body: bytes = params.get("body", b"")
        self.fields: dict[str, str] = params.get("fields", {})
        self.attempt: int = params["attempt"]
        self.published_at_ms: int = params["published_at_ms"]
        self.traceparent: str | None = params.get("traceparent")
        self.settled = False
        self.lost = feed._portal.event()
        self._loss = ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.stream!r} {self.id} attempt={self.attempt}>"

    def check(self) -> None:
        """Raises LostError if another consumer may have the message."""
        if self._pid != os.getpid():
            raise LostError(f"message {self.id} of stream {self.stream}: it belongs to the parent process", reason="fork")
        if self._loss:
            raise LostError(f"message {self.id} of stream {self.stream}: {self._loss}", reason=self._loss)

    def _lose(self, why: str) -> None:
        if not self.settled and not self._loss:
            self._loss = why
            self.lost.set()

    async def _settle(self, method: str, more: dict[str, Any]) -> None:
        """Sends the ack or nack. An ack is sent on another connection if need be, so that a processed message is not delivered again."""
        if self.settled or self._pid != os.getpid() or (self._loss and method == "stream.nack"):
            return  # it is settled, or its present consumer or the parent process settles it
        core = self._feed._core
        params = {"stream": self.stream, "group": self.group, "id": self.id, **more}
        try:
            try:
                await core.settle(method, params, None if self._loss else self._conn)
            except Broken:
                if method == "stream.ack":
                    await core.settle(method, params)
        except asyncio.CancelledError:  # the call goes on without its caller
            self.settled = True
            raise
        finally:
            self._feed._forget(self)
        self.settled = True

    async def _nack(self, reason: str, delay: float | None, dead: bool) -> None:
        more: dict[str, Any] = {"reason": reason.encode("utf-8", "replace")[:MAX_REASON].decode("utf-8", "ignore")}
        if delay is not None:
            more["delay_ms"] = max(round(delay * 1000), 0)
        if dead:
            more["dead"] = True
        await self._settle("stream.nack", more)

    async def _extend(self) -> None:
        params = {"stream": self.stream, "group": self.group, "id": self.id}
        try:
            r = await self._feed._core.invoke("stream.extend", params, on=self._conn)
        except Broken as e:
            self._lose(f"the connection ended: {e.why}")
        else:
            if not r["extended"]:
                self._lose(r["reason"])
        self.check()

    async def _leave(self, exc: BaseException | None) -> None:
        try:
            if exc is None:
                await self._settle("stream.ack", {})
            else:
                await self._nack(repr(exc), None, False)
        except CoxswainError as e:
            log.warning("message %s of stream %s was neither acknowledged nor nacked; it is delivered again: %s", self.id, self.stream, e)


class StreamMessage(StreamDelivery):
    """A message of a stream. See StreamDelivery."""

    def ack(self) -> None:
        """Acknowledges the message after its work: the group is not given it again."""
        self._feed._portal.finish(self._settle("stream.ack", {}))

    def nack(self, reason: str = "", *, delay: float | None = None, dead: bool = False) -> None:
        """Returns the message: it is delivered again after delay seconds, by default later with each attempt; dead = it becomes a dead letter."""
        self._feed._portal.finish(self._nack(reason, delay, dead))

    def extend(self) -> None:
        """Restarts the visibility timeout. Only a subscription with bind="ttl" needs it."""
        self._feed._portal.run(self._extend())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        self._feed._portal.finish(self._leave(exc))


class AsyncStreamMessage(StreamDelivery):
    """A message of a stream. See StreamDelivery."""

    async def ack(self) -> None:
        """Acknowledges the message after its work: the group is not given it again."""
        await self._settle("stream.ack", {})

    async def nack(self, reason: str = "", *, delay: float | None = None, dead: bool = False) -> None:
        """Returns the message: it is delivered again after delay seconds, by default later with each attempt; dead = it becomes a dead letter."""
        await self._nack(reason, delay, dead)

    async def extend(self) -> None:
        """Restarts the visibility timeout. Only a subscription with bind="ttl" needs it."""
        await self._extend()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        await self._leave(exc)


D = TypeVar("D", bound=StreamDelivery)


class _Stream(Subscription[D]):
    _subscribe, _unsubscribe, _give_back = "stream.subscribe", "stream.unsubscribe", "stream.nack"
    _message: type[D]

    def __init__(self, portal: Any, params: dict[str, Any]) -> None:
        super().__init__(portal, params)
        self._deliveries: dict[str, D] = {}  # messages that are not settled, by id

    def receive(self, method: str, params: dict[str, Any]) -> None:
        if method == "stream.message":
            message = self._message(self, params)
            before = self._deliveries.get(message.id)
            if before is not None:
                self._drop(before, "it was delivered again")
            self._deliveries[message.id] = message
            self._queue.append(message)
            self._wake()
        elif method == "stream.lost":
            stream, _, group = params["name"].partition(":")
            if (unquote(stream), unquote(group)) == (self._params["stream"], self._params["group"]):
                lost = self._deliveries.get(params["token"])
                if lost is not None:
                    self._drop(lost, params["reason"])

    def ended(self) -> None:
        for message in list(self._deliveries.values()):
            self._drop(message, "the connection ended")
        super().ended()

    def _untaken(self, message: D) -> None:
        if self._deliveries.get(message.id) is message:  # otherwise it was lost meanwhile
            super()._untaken(message)

    def _drop(self, message: D, why: str) -> None:
        message._lose(why)
        self._forget(message)
        try:
            self._queue.remove(message)
        except ValueError:
            pass  # the program has taken it

    def _forget(self, message: D) -> None:
        if self._deliveries.get(message.id) is message:
            del self._deliveries[message.id]

    def _abandon(self) -> None:
        super()._abandon()
        self._deliveries.clear()

    async def _left(self, conn: Connection) -> None:
        """Nacks the messages that the program did not take, without a delay, except those that would become dead letters by that."""
        last = self._params.get("max_deliveries", 5)
        queue, self._queue = self._queue, deque()
        for message in queue:
            if message.attempt < last:
                try:
                    await message._nack(NOT_PROCESSED, 0, False)
                except (CoxswainError, Broken) as e:
                    log.debug("message %s was not given back: %s", message.id, e)


class StreamSubscription(_Stream[StreamMessage], SyncIteration[StreamMessage]):
    """Messages of a group of a stream, each at least once."""

    _message = StreamMessage


class AsyncStreamSubscription(_Stream[AsyncStreamMessage], AsyncIteration[AsyncStreamMessage]):
    """Messages of a group of a stream, each at least once."""

    _message = AsyncStreamMessage
