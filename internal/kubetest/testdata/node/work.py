"""Takes entries of the queue work with a lease of an hour, and holds a lock for an hour, until it is killed.

`work.py polite` ends on SIGTERM, wherever it is; `work.py stubborn`, being the first process of its container, is not
ended by it and goes on working for its whole grace.
"""

import os
import signal
import sys
import time

from coxswain import Coxswain

HOUR = 3_600_000
if sys.argv[1] == "polite":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
sidecar = Coxswain("crawler")
assert sidecar.call("lock.acquire", name="of " + os.environ["HOSTNAME"], ttl_ms=HOUR, wait_ms=30_000)["acquired"]
while True:
    got = sidecar.call("queue.dequeue", queue="work", lease_ms=HOUR, bind="session", wait_ms=10_000)
    if got["found"]:
        time.sleep(0.02)
        sidecar.call("queue.enqueue", queue="done", id=got["id"], ttl_ms=24 * HOUR)
        assert sidecar.call("queue.ack", queue="work", lease=got["lease"])["acked"]
        print("acknowledged", got["id"])
