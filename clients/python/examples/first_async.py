import asyncio
from coxswain import AsyncClient

async def main():
    async with AsyncClient("first") as c:
        for _ in range(4):
            r = await c.ratelimit.acquire(key="example.org", algorithm="token_bucket", limits=[{"limit": 3, "period_ms": 60000}])
            print("allowed" if r["allowed"] else f"refused, again in {r['retry_after_ms']} ms")

asyncio.run(main())
