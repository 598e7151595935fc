"""Calls again and again, over a new connection after one that broke, and counts those that worked."""

import time

from coxswain import Coxswain

works = 0
while True:
    try:
        sidecar = Coxswain("crawler")
        sidecar.call("lock.acquire", name="calls")
        works += 1
        print("connection", works, "works")
        while True:
            sidecar.call("session.ping")
            time.sleep(0.1)
    except (OSError, RuntimeError):  # the socket is away, or the call is refused
        time.sleep(0.1)
