import assert from "node:assert/strict";
import { test } from "node:test";
import { BusyError, CoxswainError, LostError, ReleasedError } from "../src/index.js";
import { client, fake, LIMIT_MS, sidecar, until } from "./support.js";

test("a lock has one holder, a fence that rises, and is given back at the end of its block", async (t) => {
  const { socket } = await sidecar(t);
  const [a, b] = [await client(t, socket, { client: "a" }), await client(t, socket, { client: "b" })];
  let first: bigint;
  {
    await using lk = await a.lock("n", { meta: "job 7" });
    first = lk.fence;
    assert.ok(first > 0n && !lk.signal.aborted);
    await assert.rejects(b.lock("n"), (e) => e instanceof BusyError && e.code === "busy" && e.heldBy?.client === "a" && e.heldBy.meta === "job 7" && e.retryAfterMs > 0);
  }
  const fence = await b.withLock("n", (lk) => lk.fence);
  assert.ok(fence > first);
  assert.equal((await a.lock.get({ name: "n" })).held, false);
});

test("waiting calls are served in turn", async (t) => {
  const { socket } = await sidecar(t);
  const c = await client(t, socket);
  const held = await c.lock("n");
  const order: number[] = [];
  const waiting = [];
  for (const i of [1, 2, 3]) {
    waiting.push(c.withLock("n", () => order.push(i), { wait_ms: LIMIT_MS }));
    await until(async () => (await c.lock.get({ name: "n" })).waiting === i, `${i} wait`);
  }
  await held.release();
  await Promise.all(waiting);
  assert.deepEqual(order, [1, 2, 3]);
});

test("a lock that is taken away aborts its signal, and withLock throws a LostError", async (t) => {
  const { socket } = await sidecar(t);
  const [c, admin] = [await client(t, socket), await client(t, socket)];
  const work = c.withLock("n", async (lk) => {
    await admin.lock.force_release({ name: "n" });
    await until(() => lk.signal.aborted, "the loss is reported");
    assert.ok(lk.signal.reason instanceof LostError && lk.lost === lk.signal.reason);
    assert.throws(() => lk.check(), LostError);
    return "done";
  });
  await assert.rejects(work, LostError);
  // The error of the function is thrown instead.
  await assert.rejects(c.withLock("n", async () => {
    await admin.lock.force_release({ name: "n" });
    throw new Error("mine");
  }), /mine/);
  const lk = await c.lock("n");
  await admin.lock.force_release({ name: "n" });
  await assert.rejects(lk.release(), LostError);
});

test("release ends the signal with another reason, and works once", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  const lk = await c.lock("n");
  await Promise.all([lk.release(), lk.release()]);
  assert.ok(lk.signal.reason instanceof ReleasedError && lk.lost === undefined);
  await lk.release();
  await assert.rejects(lk.renew(), ReleasedError);
});

test("the end of the connection loses what is bound to it, and not what is bound to its TTL", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const grant = async (): Promise<void> => {
    const got = await f.next("lock.acquire");
    got.peer.reply(got.msgid!, { acquired: true, token: got.params["token"], fence: "9223372036854775807", ttl_ms: 3_600_000, retry_after_ms: 0 });
  };
  const [session, ttl] = [c.lock("a"), c.lock("b", { bind: "ttl", ttl_ms: 3_600_000 })];
  await grant();
  await grant();
  const [a, b] = [await session, await ttl];
  assert.equal(a.fence, 9223372036854775807n);
  f.peers.at(-1)!.socket.destroy();
  await until(() => a.signal.aborted, "the loss is reported");
  assert.match(String(a.signal.reason), /the connection ended/);
  assert.equal(b.signal.aborted, false);
  const renewal = b.renew();
  const got = await f.next("lock.renew");
  assert.deepEqual([got.params["name"], got.params["token"], got.params["ttl_ms"]], ["b", b.token, 3_600_000]);
  got.peer.reply(got.msgid!, { renewed: true, ttl_ms: 3_600_000, reason: "renewed" });
  await renewal;
});

test("a lock that is bound to its TTL is lost when the TTL runs out", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  const lk = await c.lock("n", { bind: "ttl", ttl_ms: 100 });
  await until(() => lk.signal.aborted, "the loss is reported");
  assert.ok(lk.signal.reason instanceof LostError);
  const held = await c.lock("m", { bind: "ttl", ttl_ms: 3_600_000, max_hold_ms: 100 });
  await until(() => held.signal.aborted, "the longest hold is over");
  assert.match(String(held.signal.reason), /max_hold/);
});

test("a sidecar that does not answer loses a lock before its validity ends", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const acquiring = c.lock("n", { ttl_ms: 300 });
  const got = await f.next("lock.acquire");
  got.peer.reply(got.msgid!, { acquired: true, token: got.params["token"], fence: "1", ttl_ms: 300, retry_after_ms: 0 });
  const lk = await acquiring;
  f.silent = true;
  await until(() => lk.signal.aborted, "the loss is reported");
  assert.match(String(lk.signal.reason), /does not answer/);
});

test("a lock outlives its TTL while the sidecar answers", async (t) => {
  const { socket } = await sidecar(t);
  const [c, other] = [await client(t, socket), await client(t, socket)];
  // So long that a busy machine answers the pings in time.
  const lk = await c.lock("n", { ttl_ms: 10_000 });
  await assert.rejects(other.lock("n", { wait_ms: 15_000 }), BusyError);
  assert.equal(lk.signal.aborted, false);
  await lk.release();
});

test("a grant that arrives after its caller has gone is given back", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const abort = new AbortController();
  const lock = assert.rejects(c.lock("n", {}, { signal: abort.signal }), { name: "AbortError" });
  const permit = assert.rejects(c.permit("p", {}, { signal: abort.signal }), { name: "AbortError" });
  const limit = assert.rejects(c.withLimit("r", "k", () => assert.fail("it was aborted"), {}, { signal: abort.signal }), { name: "AbortError" });
  const [asked, member, admitted] = [await f.next("lock.acquire"), await f.next("permit.acquire"), await f.next("ratelimit.acquire")];
  abort.abort();
  await Promise.all([lock, permit, limit]);
  // The client releases its own token at once, and the grant again when it arrives.
  assert.equal((await f.next("lock.release")).params["token"], asked.params["token"]);
  asked.peer.reply(asked.msgid!, { acquired: true, token: asked.params["token"], fence: "1", ttl_ms: 30_000, retry_after_ms: 0 });
  member.peer.reply(member.msgid!, { acquired: true, id: "m", lease: "secret", fence: "1", remaining: 0, retry_after_ms: 0 });
  assert.equal((await f.next("lock.release")).params["token"], asked.params["token"]);
  const back = await f.next("permit.report");
  assert.deepEqual([back.msgid, back.params], [undefined, { pool: "p", lease: "secret", outcome: "cancelled" }]);
  admitted.peer.reply(admitted.msgid!, { allowed: true, held: true, grant: "g", remaining: 0, retry_after_ms: 0 });
  assert.deepEqual((await f.next("ratelimit.refund")).params, { grant: "g" });
});

test("an acquisition that is aborted between connections is given back", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const abort = new AbortController();
  const lock = assert.rejects(c.lock("n", { bind: "ttl" }, { signal: abort.signal }), { name: "AbortError" });
  const asked = await f.next("lock.acquire");
  let welcome = (): void => {};
  f.welcome = new Promise((resolve) => (welcome = resolve));
  asked.peer.socket.destroy();
  await until(() => f.peers.length === 2, "the client connects again");
  abort.abort();
  await lock;
  welcome();
  assert.equal((await f.next("lock.release")).params["token"], asked.params["token"]);
});

test("an acquisition is repeated after a stale refusal about a grant of the previous connection", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const acquiring = c.lock("n");
  const first = await f.next("lock.acquire");
  first.peer.socket.destroy();
  const again = await f.next("lock.acquire");
  assert.equal(again.params["_request_id"], first.params["_request_id"]);
  again.peer.reply(again.msgid!, { acquired: false, replayed: true, reason: "released", ttl_ms: 0, retry_after_ms: 0 });
  const anew = await f.next("lock.acquire");
  assert.notEqual(anew.params["_request_id"], first.params["_request_id"]);
  assert.notEqual(anew.params["token"], first.params["token"]);
  anew.peer.reply(anew.msgid!, { acquired: true, token: anew.params["token"], fence: "1", ttl_ms: 30_000, retry_after_ms: 0 });
  await acquiring;
});

test("a loss that is notified right after the grant is not missed", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const acquiring = c.pool("p");
  const got = await f.next("pool.acquire");
  got.peer.reply(got.msgid!, { acquired: true, id: "m", lease: "secret", fence: "1", retry_after_ms: 0 });
  got.peer.notify("pool.lost", { name: "p", token: "secret", fence: "1", reason: "expired" });
  const member = await acquiring;
  await until(() => member.signal.aborted, "the loss is reported");
});

test("a semaphore has limit permits", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  const two = await c.semaphore("s", { limit: 3, permits: 2 });
  await assert.rejects(c.semaphore("s", { limit: 3, permits: 2 }), BusyError);
  assert.equal(await c.withSemaphore("s", async () => (await c.semaphore.get({ name: "s" })).holders?.length, { limit: 3 }), 2);
  await two.release();
});

test("permits take members in turn, and their outcomes are reported", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await c.pool.put({ pool: "p", members: [{ id: "a", meta: "A" }, { id: "b" }] });
  const used: string[] = [];
  await c.withPermit("p", (p) => void used.push(p.id, p.meta));
  await c.withPermit("p", async (p) => {
    used.push(p.id);
    await p.report({ outcome: "ban", status: 1e9, retry_after_ms: 0.5 }); // values that the sidecar does not accept are left out
  });
  assert.deepEqual(used, ["a", "A", "b"]);
  assert.equal((await c.pool.stats({ pool: "p" })).banned, 1);
  await assert.rejects(c.withPermit("p", () => { throw new Error("blocked"); }, {}, { outcomeOf: () => ({ outcome: "hard_block", cooldown_ms: 3_600_000 }) }), /blocked/);
  await assert.rejects(c.permit("p"), (e) => e instanceof BusyError && e.reason === "cooling" && e.retryAfterMs > 0);
  await c.pool.put({ pool: "q", members: [{ id: "a" }] });
  await assert.rejects(c.withPool("q", () => { throw new Error("no"); }), /no/);
  await c.withPool("q", (m) => assert.equal(m.id, "a"), { wait_ms: LIMIT_MS });
});

test("an entry of a queue is acknowledged, or put back at the head", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await c.queue.enqueue({ queue: "q", id: "1", body: Buffer.from("\x00b") });
  await assert.rejects(c.withEntry("q", () => { throw new Error("no good"); }), /no good/);
  const attempt = await c.withEntry("q", (e) => {
    assert.deepEqual([e.id, Buffer.from(e.body).toString()], ["1", "\x00b"]);
    return e.attempt;
  });
  assert.equal(attempt, 2);
  await assert.rejects(c.queue("q"), (e) => e instanceof BusyError && e.reason === "empty");
});

test("once runs its function once for a key", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await assert.rejects(c.once("urls", "u", () => { throw new Error("failed"); }), /failed/);
  let ran = 0;
  assert.equal(await c.once("urls", "u", async (r) => {
    await assert.rejects(c.seen("urls", "u"), (e) => e instanceof BusyError && e.reason === "reserved");
    await assert.rejects(r.renew(), (e) => e instanceof CoxswainError && e.code === "FAILED_PRECONDITION");
    return ++ran;
  }), 1);
  await assert.rejects(c.once("urls", "u", () => ++ran), (e) => e instanceof BusyError && e.reason === "done");
  assert.equal(ran, 1);
});
