import { connect } from "coxswain";

const c = await connect({ client: "first" }); // the socket is $COXSWAIN_SOCKET
for (let i = 0; i < 4; i++) {
  const r = await c.ratelimit.acquire({ key: "example.com", algorithm: "token_bucket", limits: [{ limit: 3, period_ms: 60000 }] });
  console.log(r.allowed ? "allowed" : `refused, again in ${r.retry_after_ms} ms`);
}
await c.withLock("nightly", (lk) => console.log("locked, fence", lk.fence), { wait_ms: 5000 });
await c.close();
