"""A child of a fork has a connection of its own, and leaves the parent's alone."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Sidecar, until

import coxswain
from coxswain import AsyncClient, Client


def in_child(run: Callable[[], Any]) -> None:
    """Runs a function in a fork, and fails if that does."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            run()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "see what the child printed"


def test_a_child_has_a_connection_of_its_own(c: Client, name: str) -> None:
    assert c.core.conn is None or c.core.conn.error is None
    c.session.ping()
    assert c.core.conn is not None
    parents, fd = c.core.conn, c.core.conn.sock.fileno()
    inode = os.fstat(fd).st_ino

    def child() -> None:
        try:
            assert os.fstat(fd).st_ino != inode, "the parent's socket is open here"
        except OSError:
            pass
        with c.lock(name) as lk:
            assert lk.held and c.lock.get(name=name)["held_by"]["instance"].endswith(f"/{os.getpid()}")
        assert c.core.conn is not parents

    in_child(child)
    assert c.core.conn is parents and parents.error is None
    assert c.session.ping()["now_at_ms"] > 0
    with c.lock(name):
        pass


def test_a_lock_stays_with_the_parent(c: Client, other: Client, name: str) -> None:
    def child() -> None:
        assert not lk.held
        with pytest.raises(coxswain.LostError, match="the parent process"):
            lk.check()
        lk.release()  # does nothing
        lk.__exit__(None, None, None)
        with pytest.raises(coxswain.Busy):
            c.lock(name).acquire()
        assert c.lock.get(name=name)["fence"] == str(lk.fence)

    with c.lock(name) as lk:
        in_child(child)
        assert other.lock.get(name=name)["held"] and lk.held
        lk.check()
    assert not other.lock.get(name=name)["held"]


def test_a_lock_of_the_parent_is_free_when_the_parent_ends_though_its_child_lives(sidecar: Sidecar, other: Client, name: str) -> None:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # the parent of the test's child
        try:
            c = Client(socket=sidecar.socket, deadline=60)
            c.lock(name).acquire()
            if os.fork() == 0:
                os.read(read, 1)  # keeps running
                os._exit(0)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    until(lambda: not other.lock.get(name=name)["held"])
    os.write(write, b"x")


def test_messages_stay_with_the_parent(c: Client, name: str) -> None:
    for i in range(4):
        c.stream.publish(stream=name, body=str(i).encode())

    def child() -> None:
        with pytest.raises(coxswain.LostError, match="the parent process"):
            m.check()
        m.ack()  # does nothing
        with pytest.raises(TimeoutError):
            sub.get(0.2)  # its own subscription, which is given what the parent does not have
        sub.close()

    with c.stream(name, group="g", prefetch=4) as sub:
        m = sub.get(60)
        until(lambda: len(sub._queue) == 3)
        in_child(child)
        m.check()
        m.ack()
        for _ in range(3):
            sub.get(60).ack()
        assert c.stream.stats(stream=name)["groups"][0]["pending"] == 0


def _work(arguments: tuple[str, str]) -> int:
    socket, name = arguments
    with Client(socket=socket, deadline=60) as c:
        r = c.ratelimit.acquire(key=name, algorithm="fixed_window", limits=[{"limit": 100, "period_ms": 3_600_000_000}])
        assert r["allowed"]
    return int(shared.lock.get(name=name)["held"]) + 10


shared: Any = None


def test_a_pool_of_processes_uses_a_client_of_its_parent(c: Client, sidecar: Sidecar, name: str) -> None:
    global shared
    shared = c
    with c.lock(name), multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(_work, [(sidecar.socket, name)] * 20) == [11] * 20
        assert c.session.ping()["now_at_ms"] > 0
    limits: Any = [{"limit": 100, "period_ms": 3_600_000_000}]
    assert c.ratelimit.peek(key=name, algorithm="fixed_window", limits=limits)["current"] == 20


def test_a_fork_while_threads_call(c: Client, name: str) -> None:
    import threading

    stop, errors = threading.Event(), []

    def call() -> None:
        while not stop.is_set():
            try:
                c.session.ping()
            except Exception as e:
                errors.append(e)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for t in threads:
        t.start()
    for _ in range(10):
        in_child(lambda: c.session.ping())
    stop.set()
    for t in threads:
        t.join(60)
    assert errors == []


def test_an_async_client_serves_a_child_of_its_loop(sidecar: Sidecar, name: str) -> None:
    c = AsyncClient(socket=sidecar.socket, deadline=60)

    async def hold() -> None:
        async with c.lock(name) as lk:
            parents = c.core.conn
            await asyncio.to_thread(in_child, lambda: asyncio.run(child()))
            assert lk.held and c.core.conn is parents
            await c.session.ping()

    async def child() -> None:
        assert (await c.lock.get(name=name))["held"]
        with pytest.raises(coxswain.Busy):
            await c.lock(name)

    asyncio.run(hold())
