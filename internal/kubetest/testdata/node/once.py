"""Uses a limit, a lock and a queue once."""

import os

from coxswain import Coxswain

sidecar = Coxswain("crawler")
assert sidecar.call("ratelimit.acquire", key="once", algorithm="token_bucket", limits=[{"limit": 3, "period_ms": 5000}])["allowed"]
assert sidecar.call("lock.acquire", name="of-python")["acquired"]
assert sidecar.call("queue.enqueue", queue="once", id="1", body=b"a page")["enqueued"]
assert sidecar.call("queue.dequeue", queue="once")["body"] == b"a page"
print("all calls answered, uid", os.getuid())
