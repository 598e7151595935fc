import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { ClosedError, CoxswainError, LostError, type SidecarEvent } from "../src/index.js";
import { client, fake, type Fake, LIMIT_MS, redis, sidecar, until } from "./support.js";

const timeout = 5 * LIMIT_MS;

/** Breaks the connection, and holds the next one until the function that it returns is called. */
async function disconnect(f: Fake): Promise<() => void> {
  let welcome = (): void => {};
  f.welcome = new Promise((resolve) => (welcome = resolve));
  const before = f.peers.length;
  f.peers.at(-1)!.socket.destroy();
  await until(() => f.peers.length > before, "the client connects again");
  return welcome;
}

/** Answers so many calls of a method, and returns what they had in a param. */
async function answer(f: Fake, method: string, count: number, param: string): Promise<unknown[]> {
  const values = [];
  for (let i = 0; i < count; i++) {
    const got = await f.next(method);
    values.push(got.params[param]);
    got.peer.reply(got.msgid!, {});
  }
  return values;
}

test("a call whose connection broke is repeated with its request id", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const call = c.stream.publish({ stream: "s" });
  const first = await f.next("stream.publish");
  first.peer.socket.destroy();
  const second = await f.next("stream.publish");
  assert.notEqual(second.peer, first.peer);
  assert.equal(second.params["_request_id"], first.params["_request_id"]);
  second.peer.reply(second.msgid!, { published: true });
  assert.equal((await call).published, true);
});

test("a call without an id is repeated only if it is idempotent", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const unsafe = assert.rejects(c.stream.publish({ stream: "s" }, { requestId: "" }), (e) => e instanceof CoxswainError && e.code === "UNAVAILABLE" && e.maybeExecuted);
  (await f.next("stream.publish")).peer.socket.destroy();
  await unsafe;
  const safe = c.lock.get({ name: "n" });
  (await f.next("lock.get")).peer.socket.destroy();
  const again = await f.next("lock.get");
  again.peer.reply(again.msgid!, { held: false });
  await safe;
  assert.deepEqual(f.methods, []);
});

test("a call that is sent again says how much is left of its time", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const call = c.lock.get({ name: "n" }, { deadlineMs: LIMIT_MS });
  const first = await f.next("lock.get");
  first.peer.socket.destroy();
  const second = await f.next("lock.get");
  assert.ok(Number(second.params["_deadline_ms"]) < Number(first.params["_deadline_ms"]), "a pause is before the next connection");
  second.peer.reply(second.msgid!, { held: false });
  await call;
});

test("calls under way are sent again in the order in which they were made", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const calls = [1, 2, 3, 4].map((i) => c.call("test.echo", { i }));
  for (const _ of calls) await f.next("test.echo");
  f.peers[0]!.socket.destroy();
  assert.deepEqual(await answer(f, "test.echo", 4, "i"), [1, 2, 3, 4]);
  await Promise.all(calls);
});

test("calls that wait for a connection are sent in the order in which they were made", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const { signal } = new AbortController();
  const welcome = await disconnect(f);
  const calls = [1, 2, 3, 4].map((i) => c.call("test.echo", { i }, { signal }));
  assert.equal(getEventListeners(signal, "abort").length, 4);
  welcome();
  assert.deepEqual(await answer(f, "test.echo", 4, "i"), [1, 2, 3, 4]);
  await Promise.all(calls);
  assert.equal(getEventListeners(signal, "abort").length, 0, "calls that have ended have no listeners");
});

test("close ends calls that wait for a connection", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  await disconnect(f);
  const call = assert.rejects(c.lock.get({ name: "n" }, { deadlineMs: 3_600_000 }), ClosedError);
  await c.close();
  await call;
});

test("a call that was not sent when its connection broke is sent on the next one, also without an id", { timeout }, async (t) => {
  const f = await fake(t);
  f.hello = { limits: { max_frame_bytes: 1 << 20, max_inflight: 1 } };
  const c = await client(t, f.socket);
  const first = assert.rejects(c.lock.get({ name: "n" }), (e) => e instanceof CoxswainError && e.code === "UNAVAILABLE");
  const second = c.stream.publish({ stream: "s" }, { requestId: "" });
  for (let i = 0; i < 4; i++) (await f.next("lock.get")).peer.socket.destroy(); // as often as one call is sent
  await first;
  await answer(f, "stream.publish", 1, "stream");
  await second;
});

test("a client knows the sidecar of its present connection", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  f.hello = { version: "1" };
  const welcome = await disconnect(f);
  welcome();
  await c.session.ping();
  assert.equal(c.server.version, "1");
});

test("a call that breaks each connection fails after four sends", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const call = assert.rejects(c.lock.get({ name: "n" }), (e) => e instanceof CoxswainError && e.code === "UNAVAILABLE" && e.retryable);
  for (let i = 0; i < 4; i++) (await f.next("lock.get")).peer.socket.destroy();
  await call;
  assert.deepEqual(f.methods, []);
});

test("a deadline ends a call that waits for a connection", async (t) => {
  const s = await sidecar(t);
  const c = await client(t, s.socket);
  await s.kill();
  await assert.rejects(c.lock.get({ name: "n" }, { deadlineMs: 50 }), (e) => e instanceof CoxswainError && e.retryable);
  const abort = new AbortController();
  const call = c.lock.get({ name: "n" }, { signal: abort.signal });
  abort.abort();
  await assert.rejects(call, { name: "AbortError" });
});

test("the subscription to events is renewed on the next connection, with a gap", async (t) => {
  const f = await fake(t);
  const events: SidecarEvent[] = [];
  const c = await client(t, f.socket, { onEvent: (event) => events.push(event) });
  const follow = c.follow("lost");
  const got = await f.next("events.subscribe");
  got.peer.reply(got.msgid!, { subscribed: ["lost"] });
  await follow;
  got.peer.notify("event", { kind: "lost", at_ms: 1, count: 1 });
  await until(() => events.length === 1, "the event is received");
  got.peer.socket.destroy();
  const again = await f.next("events.subscribe");
  assert.deepEqual(again.params["kinds"], ["lost"]);
  again.peer.reply(again.msgid!, { subscribed: ["lost"] });
  again.peer.notify("event", { kind: "lost", at_ms: 2, count: 1 });
  await until(() => events.length === 3, "the event is received again");
  assert.deepEqual(events.map((e) => e.method), ["event", "events.gap", "event"]);
});

test("the kinds of events that were followed before stay if the sidecar refuses others", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket, { onEvent: () => undefined });
  const follow = c.follow("lost");
  await answer(f, "events.subscribe", 1, "kinds");
  await follow;
  const refused = assert.rejects(c.follow("none"), (e) => e instanceof CoxswainError && e.code === "INVALID_ARGUMENT");
  const got = await f.next("events.subscribe");
  got.peer.fail(got.msgid!, "INVALID_ARGUMENT");
  await refused;
  got.peer.socket.destroy();
  assert.deepEqual(await answer(f, "events.subscribe", 1, "kinds"), [["lost"]]);
});

test("no events are followed on the next connection after unfollow", { timeout }, async (t) => {
  const f = await fake(t);
  const events: SidecarEvent[] = [];
  const c = await client(t, f.socket, { onEvent: (event) => events.push(event) });
  const follow = c.follow("lost");
  await answer(f, "events.subscribe", 1, "kinds");
  await follow;
  const unfollow = c.unfollow();
  await answer(f, "events.unsubscribe", 1, "kinds");
  await unfollow;
  const welcome = await disconnect(f);
  welcome();
  await c.session.ping();
  assert.deepEqual(f.methods, []);
  assert.deepEqual(events, []);
});

test("a gap tells that the next connection refused to follow events", { timeout }, async (t) => {
  const f = await fake(t);
  const events: SidecarEvent[] = [];
  const c = await client(t, f.socket, { onEvent: (event) => events.push(event) });
  const follow = c.follow("lost");
  await answer(f, "events.subscribe", 1, "kinds");
  await follow;
  f.peers[0]!.socket.destroy();
  const got = await f.next("events.subscribe");
  got.peer.fail(got.msgid!, "PERMISSION_DENIED");
  await c.session.ping(); // the connection is used all the same
  assert.deepEqual(events.map((e) => e.method === "events.gap" && e.params.reason), ["reconnected", "refused"]);
});

test("a program without onEvent cannot follow", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  await assert.rejects(async () => await c.follow(), /onEvent/);
});

test("a sidecar is killed 20 times under 50 tasks: no call runs twice, none is lost, lost locks are reported", { timeout: 600_000 }, async (t) => {
  const s = await sidecar(t, await redis(t));
  const c = await client(t, s.socket, { deadlineMs: 600_000 });
  let on = true;
  const published: string[] = [];
  let locked = 0;
  let lost = 0;
  const publisher = async (task: number): Promise<void> => {
    for (let n = 0; on; n++) {
      const id = `${task}-${n}`;
      const r = await c.stream.publish({ stream: "s", fields: { id } });
      assert.equal(r.published, true);
      published.push(id);
    }
  };
  const locker = async (task: number): Promise<void> => {
    while (on) {
      const lk = await c.lock(`l-${task}`, { wait_ms: 60_000 });
      locked++;
      await Promise.race([new Promise((resolve) => lk.signal.addEventListener("abort", resolve)), new Promise((resolve) => setImmediate(resolve))]);
      try {
        await lk.release();
      } catch (error) {
        assert.ok(error instanceof LostError, String(error));
        lost++;
      }
    }
  };
  const tasks = Array.from({ length: 50 }, (_, i) => (i < 40 ? publisher(i) : locker(i)));
  const failed = Promise.all(tasks);
  failed.catch(() => (on = false));
  for (let kill = 0; kill < 20; kill++) {
    // A lock that is held while the sidecar is killed.
    const lk = await c.lock(`held-${kill}`, { wait_ms: 60_000 });
    const before = published.length;
    await until(() => published.length > before + 50, "calls are answered");
    await s.kill();
    await until(() => lk.signal.aborted, "the loss is reported");
    assert.ok(lk.signal.reason instanceof LostError);
    await s.start();
  }
  on = false;
  await failed;
  assert.ok(locked > 0);
  t.diagnostic(`${published.length} messages, ${locked} locks, of which ${lost} were lost`);
  const seen = new Map<string, number>();
  for (let after: string | undefined; ; ) {
    const page = await c.stream.read({ stream: "s", count: 256, after });
    for (const m of page.messages) seen.set(m.fields!["id"]!, (seen.get(m.fields!["id"]!) ?? 0) + 1);
    if (!page.more) break;
    after = page.next;
  }
  assert.deepEqual([...seen].filter(([, n]) => n !== 1), [], "no call ran twice");
  assert.deepEqual(published.filter((id) => !seen.has(id)), [], "none was lost");
  assert.equal(seen.size, published.length, "none ran that was not answered");
});
