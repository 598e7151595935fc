"""Calls a sidecar with the client of examples/python, as docs/python.md has it."""

import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

LIMIT = 60  # seconds, long after anything here takes
example = pathlib.Path(__file__).parents[2] / "examples" / "python"
sys.path.insert(0, str(example))
from coxswain import Coxswain  # noqa: E402


def check(name, right, got):
    print(f"ok {name}" if right else f"not ok {name}: {got!r}")


def refusal(**params):
    try:
        return Coxswain("smoke").call(params.pop("method"), **params)
    except RuntimeError as e:
        return str(e)


run = subprocess.run([sys.executable, example / "coxswain.py"], capture_output=True, text=True, env=os.environ)
check("as pasted", run.returncode == 0 and "'allowed': True" in run.stdout and "locked, fence " in run.stdout, run)

events = queue.Queue()
a, b = Coxswain("smoke", lambda *event: events.put(event)), Coxswain("other")
limit = dict(key="python", algorithm="token_bucket", limits=[{"limit": 3, "period_ms": 3600000}])
answers = [a.call("ratelimit.acquire", **limit) for _ in range(4)]
check("three are allowed", [r["allowed"] for r in answers] == [True, True, True, False], answers)
# A child with the socket would keep the program's locks after the program's end.
check("a child does not keep the connection open", not a.socket.get_inheritable(), a.socket)
check("the fourth is told when", 0 < answers[3]["retry_after_ms"] <= 1200000, answers[3])

mine = a.call("lock.acquire", name="python")
theirs = b.call("lock.acquire", name="python")
check("a lock is taken", mine["acquired"] and mine["fence"].isdigit(), mine)
check("its holder is shown", not theirs["acquired"] and theirs["held_by"]["client"] == "smoke", theirs)

# Two threads on one connection: each gets its own reply, whichever comes first.
answered = queue.Queue()
waiting = threading.Thread(target=lambda: answered.put(b.call("lock.acquire", name="python", wait_ms=60000)), daemon=True)
waiting.start()
until = time.monotonic() + LIMIT
while not b.call("lock.get", name="python").get("waiting") and time.monotonic() < until:
    pass
check("a thread calls while another waits", answered.empty() and b.call("lock.get", name="python")["waiting"] == 1, None)
# A program that makes no calls still gets the loss, and the caller that waited has the lock.
b.call("lock.force_release", name="python")
method, params = events.get(timeout=LIMIT)
check("an idle program hears of a lost lock", method == "lock.lost" and params["name"] == "python", (method, params))
theirs = answered.get(timeout=LIMIT)
check("who waited has it", theirs["acquired"], theirs)
check("it is given back", b.call("lock.release", name="python", token=theirs["token"])["released"], None)

mine = a.call("lock.acquire", name="python", ttl_ms=3600000)
theirs = b.call("lock.acquire", name="python")
a.socket.shutdown(2)
# The end of the connection frees it: its TTL ends much later.
until = time.monotonic() + LIMIT
while not theirs["acquired"] and time.monotonic() < until:
    theirs = b.call("lock.acquire", name="python")
check("a closed connection frees it", theirs["acquired"] and int(theirs["fence"]) > int(mine["fence"]), theirs)
check("it is released", b.call("lock.release", name="python", token=theirs["token"])["released"], None)

check("the end of the connection is told", events.get(timeout=LIMIT) == ("closed", {}), None)
try:
    a.call("session.ping")
    check("a call after the end fails", False, None)
except ConnectionError:
    check("a call after the end fails", True, None)

text = refusal(method="lock.aquire", name="l")
check("the nearest method is told", text.startswith("METHOD_NOT_FOUND: ") and "lock.acquire" in text, text)
text = refusal(method="lock.acquire", name="l", tll_ms=1)
check("the unknown key is told", text.startswith("INVALID_ARGUMENT: ") and "tll_ms" in text and "ttl_ms" in text, text)
