"""A worker of the benchmarks in Python: reads its task, prints an empty result when ready, waits for a line, works, and prints its result."""

import asyncio
import gc
import json
import random
import sys
import time

KEYS = [str(k) for k in range(10_000)]


async def coxswain(task):
    from coxswain import AsyncClient

    client = AsyncClient("bench", task["Socket"])
    await client.connect()

    async def call(key):
        r = await client.ratelimit.acquire(rule="bench", key=key)
        assert r["allowed"] and not r["degraded"], r

    return call, client.aclose


async def redis_py(task):
    import redis.asyncio

    host, port = task["Addr"].split(":")
    db = redis.asyncio.Redis(host=host, port=int(port), max_connections=task["Callers"])
    await db.ping()
    sha, keys, args = (task["Script"][k] for k in ("SHA", "Keys", "Args"))

    async def call(key):
        await db.evalsha(sha, len(keys), *(k.replace("__rand_int__", key) for k in keys), *args)

    return call, db.close


async def main():
    task = json.loads(sys.stdin.readline())
    call, close = await {"coxswain.py": coxswain, "redis-py": redis_py}[task["Kind"]](task)
    print(json.dumps({"Calls": 0}), flush=True)
    if not await asyncio.to_thread(sys.stdin.readline):
        return
    gc.freeze()
    calls, start, used = 0, time.monotonic(), time.process_time()
    end = start + task["Duration"] / 1e9

    async def caller(n):
        nonlocal calls
        choose = random.Random(n).choice
        while time.monotonic() < end:
            await call(choose(KEYS))
            calls += 1

    await asyncio.gather(*(caller(n) for n in range(task["Callers"])))
    took, cpu = time.monotonic() - start, time.process_time() - used
    print(json.dumps({"Calls": calls, "Took": round(took * 1e9), "CPU": round(cpu * 1e9)}), flush=True)
    await close()


asyncio.run(main())
