"""Subscriptions: streams and Pub/Sub, their bounds, and events of slow consumers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from conftest import Fake, Sidecar, auntil, until

import coxswain
from coxswain import AsyncClient, Client


def group(c: Client, stream: str) -> Any:
    return c.stream.stats(stream=stream)["groups"][0]


def test_messages_of_a_stream_are_acknowledged_at_the_end_of_their_blocks(c: Client, name: str) -> None:
    for i in range(3):
        c.stream.publish(stream=name, body=b"\x00\xff", fields={"n": str(i)})
    seen = []
    for m in c.stream(name, group="g"):
        with m:
            seen.append((m.body, m.fields["n"], m.attempt))
            m.check()
        if len(seen) == 3:
            break
    assert seen == [(b"\x00\xff", str(i), 1) for i in range(3)]
    until(lambda: group(c, name)["pending"] == 0)


def test_a_failed_message_is_delivered_again_and_ends_as_a_dead_letter(c: Client, name: str) -> None:
    c.stream.publish(stream=name, body=b"poison")
    with c.stream(name, group="g", max_deliveries=3) as sub:
        with pytest.raises(ZeroDivisionError), sub.get(60) as m:
            raise ZeroDivisionError("no good")
        m = sub.get(60)
        assert m.attempt == 2
        m.nack("by hand", delay=0)
        m = sub.get(60)
        m.extend()
        m.nack("given up", dead=True)
        m.ack()  # settled: nothing more is sent
    (letter,) = c.stream.dead(stream=name)["letters"]
    assert (letter["reason"], letter["attempts"]) == ("given up", 3)


def test_messages_that_were_not_taken_are_given_back_at_close(c: Client, name: str) -> None:
    for i in range(5):
        c.stream.publish(stream=name, body=str(i).encode())
    with c.stream(name, group="g", prefetch=5) as sub:
        sub.get(60).ack()
        until(lambda: len(sub._queue) == 4)
    with c.stream(name, group="g", prefetch=5) as again:
        got = [again.get(60) for _ in range(4)]
        assert [(m.body, m.attempt) for m in got] == [(b"1", 2), (b"2", 2), (b"3", 2), (b"4", 2)]
        for m in got:
            m.ack()


async def test_streams_in_asyncio(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c:
        await c.stream.publish_many(stream=name, messages=[{"body": b"1"}, {"body": b"2"}, {"body": b"3"}])
        got = []
        async for m in c.stream(name, group="g", prefetch=1):
            async with m:
                got.append(m.body)
            if len(got) == 2:
                break
        assert got == [b"1", b"2"]
        async with c.stream(name, group="g") as sub:
            m = await sub.get(60)
            await m.extend()
            await m.nack("later", delay=0)
            m = await sub.get(60)
            await m.ack()
            with pytest.raises(TimeoutError):
                await sub.get(0.05)


async def test_a_message_is_lost_when_its_connection_ends(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c:
        await c.stream.publish(stream=name, body=b"1")
        async with c.stream(name, group="g") as sub:
            first = await sub.get(60)
            assert c.core.conn is not None
            c.core.conn.sock.shutdown(2)
            await first.lost.wait()
            with pytest.raises(coxswain.LostError, match="the connection ended"):
                first.check()
            again = await sub.get(60)
            assert again.id == first.id and again.attempt == 2
            await first.nack("others have it")  # sends nothing
            await again.ack()


def test_messages_of_channels_are_received(c: Client, name: str) -> None:
    with c.pubsub(name, patterns=[name + ".*"]) as sub:
        c.pubsub.publish(channel=name, body=b"1")
        c.pubsub.publish(channel=name + ".x", body=b"2")
        first, second = sub.get(60), sub.get(60)
        assert (first.channel, first.pattern, first.body, first.missed) == (name, None, b"1", 0)
        assert (second.channel, second.pattern, second.body) == (name + ".x", name + ".*", b"2")
        with pytest.raises(TimeoutError):
            sub.get(0.05)
    with pytest.raises(coxswain.ClosedError):
        sub.get()


def test_an_iteration_ends_when_it_is_closed(c: Client, name: str) -> None:
    sub = c.pubsub(name)
    sub.subscribe()
    got: list[bytes] = []

    def consume() -> None:
        got.extend(m.body for m in sub)

    consumer = threading.Thread(target=consume)
    consumer.start()
    c.pubsub.publish(channel=name, body=b"1")
    until(lambda: got == [b"1"] or not consumer.is_alive() or len(sub._queue) == 0)
    sub.close()
    consumer.join(60)
    assert not consumer.is_alive()


async def test_a_slow_consumer_misses_messages_and_gets_their_number(client: Callable[..., AsyncClient], name: str) -> None:
    gaps: list[int] = []
    async with client() as c, c.pubsub(name, buffer=10, on_gap=gaps.append) as sub:
        for i in range(100):
            await c.pubsub.publish(channel=name, body=str(i).encode())
        await auntil(lambda: len(sub._queue) == 10 and sub._missed == 90)
        for i in range(10):
            assert (await sub.get()).body == str(i).encode()
        await c.pubsub.publish(channel=name, body=b"next")
        await auntil(lambda: sub._queue)  # else a get with an empty queue would report the gap before the message
        m = await sub.get(60)
        assert (m.body, m.missed, gaps) == (b"next", 90, [90])


async def test_on_gap_is_called_when_no_message_follows() -> None:
    gaps: list[int] = []
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["pubsub.subscribe"] = lambda peer, params: {"subscription": "s1"}
        fake.answers["pubsub.unsubscribe"] = lambda peer, params: {"unsubscribed": True}
        async with c.pubsub("c", on_gap=gaps.append) as sub:
            waiting = asyncio.create_task(sub.get())
            fake.peers[0].notify("pubsub.gap", {"subscription": "s1", "dropped": 3})
            await auntil(lambda: gaps)
            fake.peers[0].notify("pubsub.message", {"subscription": "s1", "channel": "c", "body": b"x"})
            assert (await waiting).missed == 0 and gaps == [3]


async def test_large_messages_that_wait_are_bounded_by_their_bytes(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c, c.pubsub(name, buffer=1000) as sub:
        for _ in range(40):
            await c.pubsub.publish(channel=name, body=b"x" * (256 << 10))
        await auntil(lambda: len(sub._queue) + sub._missed == 40)
        assert sub._bytes <= 8 << 20 and len(sub._queue) == 31


async def test_subscriptions_go_on_when_the_sidecar_is_started_again(own: Callable[..., Sidecar], name: str) -> None:
    sidecar = own()
    async with AsyncClient(socket=sidecar.socket, deadline=60) as c, c.pubsub(name) as sub, c.stream(name, group="g") as stream:
        waiting, message = asyncio.create_task(sub.get()), asyncio.create_task(stream.get())
        await asyncio.to_thread(sidecar.kill)
        await asyncio.to_thread(sidecar.start)
        await c.stream.publish(stream=name, body=b"s")
        assert (await message).body == b"s"
        while not waiting.done():  # until it is subscribed again, which the first message shows
            await c.pubsub.publish(channel=name, body=b"p")
        assert (await waiting).missed == -1
        await (await message).ack()


async def test_the_gap_of_a_broken_connection_is_before_the_first_message_of_the_next() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:

        def subscribe(peer: Any, params: Any) -> Any:
            peer.reply(peer.msgid, {"subscription": f"s{len(fake.peers)}"})
            if len(fake.peers) == 2:  # it is read together with the answer
                peer.notify("pubsub.message", {"subscription": "s2", "channel": "c", "body": b"x"})

        fake.answers["pubsub.subscribe"] = subscribe
        fake.answers["pubsub.unsubscribe"] = lambda peer, params: {"unsubscribed": True}
        async with c.pubsub("c") as sub:
            fake.peers[0].close()
            assert (await sub.get()).missed == -1


async def test_several_tasks_may_wait_for_messages_of_one_subscription(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c:
        sub = c.stream(name, group="g")
        waiting = [asyncio.create_task(sub.get()) for _ in range(3)]
        await c.stream.publish_many(stream=name, messages=[{"body": b"1"}, {"body": b"2"}, {"body": b"3"}])
        got = await asyncio.gather(*waiting)
        assert {m.body for m in got} == {b"1", b"2", b"3"} and all(m.attempt == 1 for m in got)
        for m in got:
            await m.ack()
        assert (await c.stream.stats(stream=name))["groups"][0]["pending"] == 0
        await sub.aclose()


async def test_a_refused_subscription_raises(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c:
        with pytest.raises(coxswain.InvalidArgument):
            await c.pubsub().subscribe()
        with pytest.raises(coxswain.NotFound):
            await c.stream(name, group="g", rule="no-such-rule", key="k").get()


async def test_messages_before_the_answer_of_their_subscription_are_received() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:

        def subscribe(peer: Any, params: Any) -> Any:
            for i in range(3):
                peer.notify("pubsub.message", {"subscription": "s1", "channel": "c", "body": str(i).encode()})
            peer.notify("pubsub.message", {"subscription": "another", "channel": "c", "body": b"x"})
            return {"subscription": "s1"}

        fake.answers["pubsub.subscribe"] = subscribe
        fake.answers["pubsub.unsubscribe"] = lambda peer, params: {"unsubscribed": True}
        async with c.pubsub("c") as sub:
            assert [(await sub.get()).body for _ in range(3)] == [b"0", b"1", b"2"]
        assert fake.of("pubsub.unsubscribe")[0]["subscription"] == "s1"
        assert "_request_id" not in fake.of("pubsub.subscribe")[0]


async def test_a_subscription_that_nobody_waits_for_is_ended() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        opening = asyncio.create_task(c.pubsub("c").subscribe())
        await auntil(lambda: fake.of("pubsub.subscribe"))
        opening.cancel()
        await auntil(lambda: fake.of("rpc.cancel"))
        fake.peers[0].reply(fake.peers[0].msgid, {"subscription": "s1"})
        await auntil(lambda: fake.of("pubsub.unsubscribe"))
        assert fake.of("pubsub.unsubscribe")[0]["subscription"] == "s1"


async def test_messages_of_a_subscription_that_nobody_waits_for_are_given_back() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["stream.unsubscribe"] = lambda peer, params: {"unsubscribed": True}
        fake.answers["stream.nack"] = lambda peer, params: {"nacked": True}
        opening = asyncio.create_task(c.stream("s", group="g").subscribe())
        await auntil(lambda: fake.of("stream.subscribe"))
        peer, subscribed = fake.peers[0], fake.peers[0].msgid
        opening.cancel()
        await auntil(lambda: fake.of("rpc.cancel"))

        def message(id: str) -> dict[str, Any]:
            return {"subscription": "s1", "stream": "s", "group": "g", "id": id, "body": b"", "attempt": 1, "published_at_ms": 1}

        peer.notify("stream.message", message("before the answer"))
        peer.reply(subscribed, {"subscription": "s1"})
        peer.notify("stream.message", message("after it"))
        await auntil(lambda: len(fake.of("stream.nack")) == 2)
        assert [(m["stream"], m["group"], m["id"], m["delay_ms"]) for m in fake.of("stream.nack")] == [
            ("s", "g", "before the answer", 0),
            ("s", "g", "after it", 0),
        ]
        await auntil(lambda: fake.of("stream.unsubscribe"))
        assert fake.of("stream.unsubscribe")[0]["subscription"] == "s1"


def test_a_slow_on_event_delays_no_reply(sidecar: Sidecar, other: Client, name: str) -> None:
    called, go_on = threading.Event(), threading.Event()
    received: list[str] = []

    def slow(method: str, params: dict[str, Any]) -> None:
        called.set()
        go_on.wait(60)
        received.append(params["name"])

    with Client("tests", sidecar.socket, deadline=60, on_event=slow) as c:
        leases = [c.lock(f"{name}{i}").acquire() for i in range(5)]
        for i in range(5):
            other.lock.force_release(name=f"{name}{i}")
        assert called.wait(60)
        assert all(lease.lost.wait(60) for lease in leases), "losses are reported meanwhile"
        assert c.session.ping()["now_at_ms"] > 0
        assert received == []
        go_on.set()
        until(lambda: len(received) == 5)


async def test_events_beyond_the_queue_are_dropped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    go_on = asyncio.Event()
    received = []

    async def slow(method: str, params: dict[str, Any]) -> None:
        await go_on.wait()
        received.append(params["n"])

    async with Fake() as fake, AsyncClient(socket=fake.socket, on_event=slow) as c:
        fake.answers["session.ping"] = lambda peer, params: {"now_at_ms": 1}
        for i in range(300):
            fake.peers[0].notify("events.event", {"n": i})
        await c.session.ping()
        go_on.set()
        await auntil(lambda: len(received) >= 256)
        assert received[:256] == list(range(256)) and len(received) <= 257, "one was taken before the queue was full"
        assert caplog.text.count("on_event is too slow") == 1


async def test_on_event_gets_the_next_event_after_it_raised(caplog: pytest.LogCaptureFixture) -> None:
    received = []

    def fails(method: str, params: dict[str, Any]) -> None:
        received.append(method)
        raise ZeroDivisionError

    async with Fake() as fake, AsyncClient(socket=fake.socket, on_event=fails):
        fake.peers[0].notify("a", {})
        fake.peers[0].notify("b", {})
        await auntil(lambda: received == ["a", "b"])
        assert "ZeroDivisionError" in caplog.text


async def test_draining_is_set_by_its_notification() -> None:
    received: list[tuple[str, Any]] = []
    async with Fake() as fake, AsyncClient(socket=fake.socket, on_event=lambda method, params: received.append((method, params))) as c:
        assert c.draining is None
        fake.peers[0].notify("session.draining", {"deadline_at_ms": 1767225600000})
        await auntil(lambda: received)
        assert received == [("session.draining", {"deadline_at_ms": 1767225600000})] and c.draining == 1767225600


async def test_the_subscription_to_events_is_renewed_on_the_next_connection(own: Callable[..., Sidecar], name: str) -> None:
    sidecar = own()
    received: list[tuple[str, Any]] = []
    async with AsyncClient(socket=sidecar.socket, deadline=60, on_event=lambda method, params: received.append((method, params))) as c:
        await c.events.subscribe(kinds=["forced"])
        await asyncio.to_thread(sidecar.kill)
        await asyncio.to_thread(sidecar.start)
        await c.lock.acquire(name=name)
        await c.lock.force_release(name=name)
        await auntil(lambda: [p for method, p in received if method == "event" and p.get("name") == name])
        assert ("events.gap", {"reason": "reconnected"}) in received
        await c.events.unsubscribe()


async def test_a_subscription_whose_end_is_cancelled_is_ended() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        def subscribe(peer: Any, params: dict[str, Any]) -> None:
            peer.reply(peer.msgid, {"subscription": "s1"})
            for id in ("taken", "left"):
                message = {"subscription": "s1", "stream": "s", "group": "g", "id": id, "body": b"", "attempt": 1, "published_at_ms": 1}
                peer.notify("stream.message", message)

        fake.answers["stream.subscribe"] = subscribe
        fake.answers["stream.nack"] = lambda peer, params: {"nacked": True}
        unsubscribing: list[int] = []
        fake.answers["stream.unsubscribe"] = lambda peer, params: unsubscribing.append(peer.msgid)
        sub = c.stream("s", group="g")
        m = await sub.get()
        closing, acking = asyncio.create_task(sub.aclose()), asyncio.create_task(m.ack())
        await auntil(lambda: fake.of("stream.unsubscribe") and fake.of("stream.ack"))
        for task in (closing, acking):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert m.settled
        fake.peers[0].reply(unsubscribing[0], {"unsubscribed": True})
        await auntil(lambda: [nack["id"] for nack in fake.of("stream.nack")] == ["left"])
        conn = c.core.conn
        await auntil(lambda: conn is not None and not conn._subs)
        assert not fake.of("rpc.cancel")


async def test_messages_that_came_with_the_answer_of_a_cancelled_subscription_are_given_back() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["stream.unsubscribe"] = lambda peer, params: {"unsubscribed": True}
        fake.answers["stream.nack"] = lambda peer, params: {"nacked": True}
        opening = asyncio.create_task(c.stream("s", group="g").subscribe())
        await auntil(lambda: fake.of("stream.subscribe"))
        conn = c.core.conn
        assert conn is not None
        message = {"subscription": "s1", "stream": "s", "group": "g", "id": "1", "body": b"", "attempt": 1, "published_at_ms": 1}
        conn.data_received(msgpack.packb([1, conn._last_id, None, {"subscription": "s1"}]) + msgpack.packb([2, "stream.message", [message]]))
        opening.cancel()  # at the moment of the answer, which the task has not seen
        with pytest.raises(asyncio.CancelledError):
            await opening
        await auntil(lambda: fake.of("stream.unsubscribe"))
        await auntil(lambda: [nack["id"] for nack in fake.of("stream.nack")] == ["1"])


async def test_a_subscription_is_opened_again_when_its_connection_breaks_before_the_answer() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        def subscribe(peer: Any, params: dict[str, Any]) -> Any:
            if peer is fake.peers[0]:
                return peer.close()
            return {"subscription": "s1"}

        fake.answers["pubsub.subscribe"] = subscribe
        await c.pubsub("n").subscribe()
        assert len(fake.of("pubsub.subscribe")) == 2
