"""Leases: what a block holds and gives back, and how a loss is reported."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Fake, auntil, until

import coxswain
from coxswain import AsyncClient, Client


def test_a_lock_is_held_for_its_block(c: Client, other: Client, name: str) -> None:
    with c.lock(name, ttl=30) as first:
        assert first.held and first.fence > 0
        with pytest.raises(coxswain.Busy, match="held by 'tests'") as e:
            other.lock(name).acquire()
        assert e.value.held_by is not None and e.value.held_by["client"] == "tests"
        assert e.value.retry_after is not None and 0 < e.value.retry_after <= 30
    assert not first.held
    with other.lock(name) as second:
        assert second.fence > first.fence
    first.release()  # a second time does nothing


async def test_the_same_from_asyncio(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c, client() as other:
        async with c.lock(name) as first:
            with pytest.raises(coxswain.Busy):
                await other.lock(name)
        second = await other.lock(name)
        assert second.fence > first.fence
        await second.release()
        third = await other.lock(name).acquire()
        async with third:
            assert third.held
        assert not (await c.lock.get(name=name))["held"]


def test_a_waiting_call_gets_the_lock_next(c: Client, other: Client, name: str) -> None:
    taken = threading.Event()

    def wait() -> None:
        with other.lock(name, wait=60):
            taken.set()

    with c.lock(name):
        waiting = threading.Thread(target=wait)
        waiting.start()
        until(lambda: c.lock.get(name=name).get("waiting"))
        assert not taken.is_set()
    waiting.join(60)
    assert taken.is_set()


def test_a_long_wait_is_several_calls(c: Client, other: Client, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coxswain._lease.MAX_WAIT", 0.05)
    calls: list[str] = []
    invoke = c.core.invoke

    async def counted(method: str, *args: Any, **more: Any) -> Any:
        calls.append(method)
        return await invoke(method, *args, **more)

    monkeypatch.setattr(c.core, "invoke", counted)
    with other.lock(name):
        with pytest.raises(coxswain.Busy):
            c.lock(name, wait=0.2).acquire()
        waiting = threading.Thread(target=lambda: c.lock(name, wait=60).acquire())
        waiting.start()
        until(lambda: other.lock.get(name=name).get("waiting"))
        before = calls.count("lock.acquire")
        until(lambda: calls.count("lock.acquire") >= before + 3)  # rounds
    waiting.join(60)
    assert c.lock.get(name=name)["held"]


def test_a_loss_sets_the_event_and_raises_in_check_and_at_the_end_of_the_block(sidecar: Any, other: Client, name: str) -> None:
    events: list[tuple[str, Any]] = []
    with Client("tests", sidecar.socket, deadline=60, on_event=lambda method, params: events.append((method, params))) as c:
        with pytest.raises(coxswain.LostError, match=f"lock {name}: ") as e, c.lock(name) as lk:
            lk.check()
            assert other.lock.force_release(name=name)["released"]
            assert lk.lost.wait(60)
            with pytest.raises(coxswain.LostError):
                lk.check()
            assert not lk.held
        assert e.value.reason in ("expired", "not_owner")
        until(lambda: events)
        assert events[0][0] == "lock.lost" and events[0][1]["name"] == name


async def test_a_loss_in_asyncio(client: Callable[..., AsyncClient], name: str) -> None:
    events: list[tuple[str, Any]] = []

    async def on_event(method: str, params: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        events.append((method, params))

    async with client(on_event=on_event) as c, client() as other:
        with pytest.raises(coxswain.LostError):
            async with c.lock(name) as lk:
                await other.lock.force_release(name=name)
                await lk.lost.wait()
        await auntil(lambda: events)


def test_an_exception_of_the_block_comes_first(c: Client, other: Client, name: str) -> None:
    with pytest.raises(ZeroDivisionError) as e, c.lock(name) as lk:
        other.lock.force_release(name=name)
        lk.lost.wait(60)
        raise ZeroDivisionError
    assert any(note.startswith("LOST: ") for note in e.value.__notes__)
    with pytest.raises(ZeroDivisionError), c.lock(name):
        raise ZeroDivisionError
    assert not c.lock.get(name=name)["held"]


def test_a_lease_with_a_ttl_is_lost_by_itself_unless_it_is_renewed(c: Client, name: str) -> None:
    lk = c.lock(name, ttl=0.2, bind="ttl").acquire()
    assert lk.lost.wait(60)
    with pytest.raises(coxswain.LostError, match="its TTL ran out"):
        lk.renew()
    again = c.lock(name, ttl=60, bind="ttl", wait=60).acquire()
    again.renew(3600)
    assert c.lock.get(name=name)["ttl_ms"] > 1_800_000
    assert again.held
    again.release()
    with pytest.raises(coxswain.LostError, match="given back"):
        again.renew()


def test_a_lease_is_lost_at_max_hold(c: Client, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A ping that is answered late, by a busy machine, would end such a short lease before, with another reason.
    monkeypatch.setattr("coxswain._lease.validity", lambda ttl: 60.0)
    with pytest.raises(coxswain.LostError, match="max_hold"), c.lock(name, max_hold=1) as lk:
        assert lk.lost.wait(60)


async def test_a_lease_is_lost_when_the_sidecar_does_not_answer() -> None:
    """Before its validity ends: the sidecar may have renewed it last a third of the TTL before the last answer."""
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["lock.acquire"] = lambda peer, p: {"acquired": True, "token": p["token"], "fence": "7", "ttl_ms": 900, "retry_after_ms": 0}
        asked = asyncio.get_running_loop().time()
        lk = await c.lock("n", ttl=0.9)
        assert lk.fence == 7
        assert await asyncio.wait_for(lk.lost.wait(), 60)
        assert fake.of("session.ping"), "the sidecar was pinged"
        assert lk._confirmed >= asked and lk._loss == "the sidecar does not answer"


async def test_a_lease_is_held_while_the_sidecar_answers() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["lock.acquire"] = lambda peer, p: {"acquired": True, "token": p["token"], "fence": "7", "ttl_ms": 300, "retry_after_ms": 0}
        fake.answers["lock.release"] = lambda peer, p: {"released": True, "reason": "released"}
        fake.answers["session.ping"] = lambda peer, p: {"now_at_ms": 1}
        async with c.lock("n", ttl=0.3) as lk:
            await auntil(lambda: len(fake.of("session.ping")) > 5)  # two TTLs
            assert lk.held
        pings = len(fake.of("session.ping"))
        assert lk._alarm is None, f"{pings} pings were enough"


@pytest.mark.parametrize("named", [False, True])
async def test_a_grant_that_comes_too_late_is_given_back(named: bool) -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        method, release = ("pool.acquire", "pool.release") if named else ("lock.acquire", "lock.release")
        acquire: asyncio.Task[Any] = asyncio.create_task(c.pool("n").acquire() if named else c.lock("n").acquire())
        await auntil(lambda: fake.of(method))
        acquire.cancel()
        with pytest.raises(asyncio.CancelledError):
            await acquire
        await auntil(lambda: fake.of("rpc.cancel"))
        peer, token = fake.peers[0], fake.of(method)[0].get("token", "t")
        if not named:  # at once too: the reply to the cancelled call may be an error although Redis has granted the lock
            await auntil(lambda: fake.of(release))
            assert fake.of(release) == [[{"name": "n", "token": token}]]
            fake.calls.clear()
        grant = {"acquired": True, "lease": token, "id": "a"} if named else {"acquired": True, "token": token}
        peer.reply(peer.msgid, {**grant, "fence": "1", "ttl_ms": 30_000, "retry_after_ms": 0})
        await auntil(lambda: fake.of(release))
        (given_back,) = fake.of(release)[0]
        assert given_back == ({"pool": "n", "lease": token, "outcome": "cancelled"} if named else {"name": "n", "token": token})


def test_a_cancelled_wait_leaves_nothing_behind(c: Client, sidecar: Any, name: str) -> None:
    async def main() -> None:
        async with AsyncClient(socket=sidecar.socket, deadline=60) as waiter:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await waiter.lock(name, wait=60)
            lk.release()
            async with waiter.lock(name, wait=60):
                pass

    lk = c.lock(name).acquire()
    asyncio.run(main())
    assert not c.lock.get(name=name)["held"]


def test_a_semaphore_has_as_many_permits(c: Client, other: Client, name: str) -> None:
    with c.semaphore(name, limit=3, permits=2), other.semaphore(name, limit=3):
        with pytest.raises(coxswain.Busy, match="semaphore"):
            other.semaphore(name, limit=3).acquire()
        assert c.semaphore.get(name=name)["held"] == 3
    assert c.semaphore.get(name=name)["held"] == 0


def test_members_of_a_pool_rotate_and_their_outcomes_are_reported(c: Client, name: str) -> None:
    c.pool.put(pool=name, members=[{"id": "a", "meta": "A"}, {"id": "b"}])
    with c.pool(name) as first, c.pool(name) as second:
        assert (first.id, first.meta, second.id) == ("a", "A", "b")
        with pytest.raises(coxswain.Busy) as e:
            c.pool(name).acquire()
        assert e.value.reason == "busy"
    with pytest.raises(ZeroDivisionError), c.pool(name) as m:
        raise ZeroDivisionError
    assert m.id == "a", "the least recently used"
    with c.pool(name) as m:
        assert m.id == "b"
        m.report("ban", unban_after=3600)
    states = {entry["id"]: entry["state"] for entry in c.pool.list(pool=name)["members"]}
    assert states == {"a": "cooling", "b": "banned"}
    with pytest.raises(coxswain.Busy):
        c.pool(name, exclude=["a"]).acquire()


def test_a_permit_reports_to_its_breaker_and_its_limit(c: Client, name: str) -> None:
    c.pool.put(pool=name, members=[{"id": "a"}])
    c.ratelimit.put_rule(rule={"name": name, "algorithm": "token_bucket", "limits": [{"limit": 2, "period_ms": 3_600_000}]})
    with c.permit(name, rule=name, breaker="default", cost=1) as p:
        assert p.id == "a" and p.result["remaining"] == 1
    with c.permit(name, rule=name, breaker="default") as p:
        p.report("soft_block", status=429, retry_after=3600)
    with pytest.raises(coxswain.Busy) as e:
        c.permit(name, rule=name, breaker="default").acquire()
    assert e.value.reason in ("pause", "cooling", "limit") and e.value.retry_after
    assert c.breaker.get(name="a", pool=name)["failures"] == 1


def test_an_unknown_outcome_raises_and_the_member_is_given_back(c: Client, name: str) -> None:
    c.pool.put(pool=name, members=[{"id": "a"}])
    with pytest.raises(coxswain.InvalidArgument, match="outcome"), c.pool(name) as m:
        m.report("splendid")
    assert c.pool.stats(pool=name)["live"] == 0


async def test_a_cancelled_block_does_not_count_for_its_member(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c:
        await c.pool.put(pool=name, members=[{"id": "a"}])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(None) as end, c.pool(name):
                end.reschedule(0)  # not before: a grant on its way would be given back only after its arrival
                await asyncio.Event().wait()
        assert (await c.pool.list(pool=name))["members"][0]["state"] == "free"
        async with c.permit(name) as p:
            await p.report("ok", duration=0.1)


def test_an_entry_of_a_queue_is_acknowledged_or_comes_back(c: Client, name: str) -> None:
    with pytest.raises(coxswain.Busy):
        c.queue(name).acquire()
    c.queue.enqueue(queue=name, id="1", body=b"\x00\xff")
    with pytest.raises(ZeroDivisionError), c.queue(name) as e:
        assert (e.id, e.body, e.attempt) == ("1", b"\x00\xff", 1)
        raise ZeroDivisionError
    with c.queue(name) as e:
        assert e.attempt == 2
    assert c.queue.stats(queue=name)["depth"] == 0
    c.queue.enqueue(queue=name, id="2")
    c.queue(name).acquire().ack()
    assert c.queue.stats(queue=name) == {"depth": 0, "leased": 0, "waiting": 0, "oldest_ms": 0}


def test_a_committed_key_is_not_reserved_again(c: Client, other: Client, name: str) -> None:
    with pytest.raises(ZeroDivisionError), c.seen(name, "u"):
        raise ZeroDivisionError
    with c.seen(name, "u", keep=3600) as r:
        assert r.key == "u"
        with pytest.raises(coxswain.Busy) as e:
            other.seen(name, "u").acquire()
        assert e.value.reason == "reserved"
    with pytest.raises(coxswain.Busy) as e:
        other.seen(name, "u").acquire()
    assert e.value.reason == "done" and e.value.retry_after and e.value.retry_after > 3000
    with pytest.raises(coxswain.InvalidArgument, match="no renewal"):
        other.seen(name, "v").acquire().renew()
    other.seen(name, "w").acquire().commit()


def test_a_breaker_opens_by_the_failures_of_its_blocks(c: Client, name: str) -> None:
    with c.breaker(name) as b:
        assert b.state == "closed" and not b.probe
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), c.breaker(name):
            raise ZeroDivisionError
    with pytest.raises(coxswain.Busy, match="open") as e, c.breaker(name):
        pass
    assert e.value.reason == "open" and e.value.retry_after


async def test_every_form_works_in_asyncio(client: Callable[..., AsyncClient], name: str) -> None:
    async with client() as c:
        async with c.semaphore(name, limit=1) as s:
            await s.renew(60)
        await c.queue.enqueue(queue=name, id="1")
        async with c.queue(name) as e:
            assert e.id == "1"
        await c.queue.enqueue(queue=name, id="2")
        await (await c.queue(name)).ack()
        async with c.seen(name, "k"):
            pass
        await (await c.seen(name, "l")).commit()
        async with c.breaker(name) as b:
            assert b.state == "closed"
        await c.pool.put(pool=name, members=[{"id": "a"}])
        async with c.pool(name) as m:
            await m.report("soft_block", cooldown=60)
        assert (await c.pool.stats(pool=name))["cooling"] == 1


@pytest.mark.parametrize("state", ["sent", "queued", "unconnected"])
async def test_a_release_that_is_cancelled_is_carried_out(state: str) -> None:
    """By a second cancellation, or a time limit, at the end of a block: the session would keep what is not given back."""
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        fake.answers["lock.acquire"] = lambda peer, p: {"acquired": True, "token": p["token"], "fence": "7", "ttl_ms": 30_000, "retry_after_ms": 0}
        lk = await c.lock("n", bind="ttl")
        conn = c.core.conn
        assert conn is not None
        if state == "queued":
            conn.max_running = 1
            other = asyncio.create_task(c.session.ping())
            await auntil(lambda: fake.of("session.ping"))
        if state == "unconnected":
            fake.peers[0].close()
            await conn.dead
        release = asyncio.create_task(lk.release())
        for _ in range(3):
            await asyncio.sleep(0)
        release.cancel()
        with pytest.raises(asyncio.CancelledError):
            await release
        assert not lk.held and lk._alarm is None
        await lk.release()  # does nothing
        if state == "queued":
            fake.peers[0].reply(fake.peers[0].msgid, {"now_at_ms": 1})
            await other
        await auntil(lambda: fake.of("lock.release"))
        assert fake.of("lock.release")[0]["token"] == lk.token
        assert not fake.of("rpc.cancel")
        if state == "sent":  # its reply does not come any more
            fake.calls.clear()
            fake.peers[0].close()
            await auntil(lambda: fake.of("lock.release"))


def test_an_interrupted_block_does_not_count(c: Client, name: str) -> None:
    c.pool.put(pool=name, members=[{"id": "a"}])
    for _ in range(3):  # as many failures as open the breaker
        with pytest.raises(KeyboardInterrupt), c.pool(name), c.breaker(name):
            raise KeyboardInterrupt
    assert c.pool.list(pool=name)["members"][0]["state"] == "free"
    assert c.breaker.get(name=name)["failures"] == 0


async def test_an_acquisition_that_is_cancelled_between_connections_is_given_back() -> None:
    async with Fake() as fake, AsyncClient(socket=fake.socket) as c:
        acquire = asyncio.create_task(c.lock("n", bind="ttl").acquire())
        await auntil(lambda: fake.of("lock.acquire"))
        conn = c.core.conn
        assert conn is not None
        fake.peers[0].close()
        await conn.dead
        acquire.cancel()
        with pytest.raises(asyncio.CancelledError):
            await acquire
        await auntil(lambda: fake.of("lock.release"))
        assert fake.of("lock.release")[0]["token"] == fake.of("lock.acquire")[0]["token"]
