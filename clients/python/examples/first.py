from coxswain import Client

with Client("first") as c:  # the socket is $COXSWAIN_SOCKET
    for _ in range(4):  # the fourth is refused
        r = c.ratelimit.acquire(key="example.com", algorithm="token_bucket", limits=[{"limit": 3, "period_ms": 60000}])
        print("allowed" if r["allowed"] else f"refused, again in {r['retry_after_ms']} ms")
    with c.lock("nightly", wait=5) as lk:
        print("locked, fence", lk.fence)
