"""Puts entries into the queue work until one is in the queue stop, then waits until each was dealt with."""

import itertools
import time

from coxswain import Coxswain

DAY = 86_400_000
sidecar, open_, sent = Coxswain("crawler"), set(), 0


def collect():
    """Reads the queue done, to which workers add each entry of work that they have processed, once or more."""
    while (got := sidecar.call("queue.dequeue", queue="done"))["found"]:
        open_.discard(got["id"])


for n in itertools.count():
    if sidecar.call("queue.dequeue", queue="stop")["found"]:
        break
    assert sidecar.call("queue.enqueue", queue="work", id=str(n), ttl_ms=DAY)["enqueued"]
    open_.add(str(n))
    sent += 1
    collect()
    while len(open_) >= 100:  # a backlog at all times, which does not grow
        time.sleep(0.05)
        collect()
print("stopped")
while open_:
    time.sleep(0.05)
    collect()
for n in range(sent):
    while sidecar.call("queue.position", queue="work", id=str(n))["state"] != "absent":  # not acknowledged yet, or back for another
        time.sleep(0.05)
        collect()
print("all", sent, "dealt with")
