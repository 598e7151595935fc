import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BusyError, ClosedError, ConnectError, connect, CoxswainError, LimitedError } from "../src/index.js";
import { methodNames } from "../src/methods.js";
import { client, fake, folder, LIMIT_MS, sidecar, until } from "./support.js";

const timeout = 5 * LIMIT_MS;
const limits = [{ limit: 3, period_ms: 3_600_000 }];

test("a limit admits calls up to its limit, and a refusal has when to try again", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  const ask = { key: "example.com", algorithm: "token_bucket", limits } as const;
  const answers = [];
  for (let i = 0; i < 4; i++) answers.push(await c.ratelimit.acquire(ask));
  assert.deepEqual(answers.map((r) => r.allowed), [true, true, true, false]);
  assert.ok(answers[3]!.retry_after_ms > 0);
  assert.equal((await c.call("ratelimit.peek", ask)).allowed, false);
});

test("every method of the contract is a property of its noun", async (t) => {
  const f = await fake(t);
  const c = (await client(t, f.socket)) as unknown as Record<string, Record<string, (params?: object) => Promise<object>>>;
  for (const name of methodNames.filter((name) => name !== "session.hello" && name !== "session.ping")) {
    const [noun, verb] = name.split(".") as [string, string];
    const reply = c[noun]![verb]!({ x: 1 });
    const got = await f.next(name);
    assert.equal(got.params["x"], 1);
    got.peer.reply(got.msgid!, { y: name });
    assert.deepEqual(await reply, { y: name });
  }
});

test("limit throws when it is refused, withLimit gives the permit back, limited wraps a function", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await c.ratelimit.put_rule({ rule: { name: "crawl", algorithm: "token_bucket", limits, max_concurrent: 1 } });
  const held = await until(async () => (await c.limit("crawl", "a")).held && "held", "the rule is known");
  assert.equal(held, "held");
  await assert.rejects(c.limit("crawl", "a"), (e) => e instanceof LimitedError && e.code === "limited" && e.deniedBy === "concurrency" && e.rule === "crawl");
  assert.equal(await c.withLimit("crawl", "b", () => "done"), "done");
  await assert.rejects(c.withLimit("crawl", "b", () => { throw new Error("mine"); }), /mine/);
  assert.equal(await c.withLimit("crawl", "b", async () => "done"), "done");
  await assert.rejects(c.limit("crawl", "b"), (e) => e instanceof LimitedError && e.deniedBy === "limit" && e.retryAfterMs > 0);
  const twice = c.limited("crawl", (n: number) => `key-${n}`, (n) => 2 * n);
  assert.equal(await twice(21), 42);
  assert.equal((await c.ratelimit.peek({ rule: "crawl", key: "key-21" })).remaining, 2);
});

test("an error has its code and names the mistake", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await assert.rejects(c.call("lock.aquire", { name: "n" }), (e) => e instanceof CoxswainError && e.code === "METHOD_NOT_FOUND" && e.message.includes("lock.acquire"));
  await assert.rejects(c.call("lock.get", { nam: "n" }), (e) => e instanceof CoxswainError && e.code === "INVALID_ARGUMENT" && !e.retryable && e.message.includes("nam"));
  await assert.rejects(c.call("lock.get", { name: Symbol("n") }), (e) => e instanceof CoxswainError && e.code === "INVALID_ARGUMENT");
  await assert.rejects(c.queue.enqueue({ queue: "q", id: "1", body: new Uint8Array(2 << 20) }), (e) => e instanceof CoxswainError && e.message.includes("max_frame_bytes"));
  assert.equal((await c.session.ping()).now_at_ms > 1.5e12, true); // the connection still works
});

test("an error has the details of the reply", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const call = assert.rejects(c.lock.get({ name: "n" }), (e) =>
    e instanceof CoxswainError && e.code === "UNAVAILABLE" && e.retryable && e.retryAfterMs === 7 && e.trouble === "oom" && e.maybeExecuted);
  const got = await f.next("lock.get");
  got.peer.fail(got.msgid!, "UNAVAILABLE", { retryable: true, retry_after_ms: 7, details: { trouble: "oom", maybe_executed: true } });
  await call;
});

test("the metadata is sent: a deadline, an id for calls that are not idempotent, the trace", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const answer = async (method: string): Promise<Record<string, unknown>> => {
    const got = await f.next(method);
    got.peer.reply(got.msgid!, {});
    return got.params;
  };
  const calls: Promise<unknown>[] = [];
  calls.push(c.lock.get({ name: "n", _traceparent: "00-1-2-01" }, { deadlineMs: 50_000 }));
  let params = await answer("lock.get");
  assert.ok(Number(params["_deadline_ms"]) <= 50_000 && Number(params["_deadline_ms"]) > 0);
  assert.equal(params["_request_id"], undefined);
  assert.equal(params["_traceparent"], "00-1-2-01");
  calls.push(c.stream.publish({ stream: "s" }));
  calls.push(c.stream.publish({ stream: "s" }));
  const ids = [(await answer("stream.publish"))["_request_id"], (await answer("stream.publish"))["_request_id"]];
  assert.ok(ids.every((id) => typeof id === "string" && id.length <= 64) && ids[0] !== ids[1], String(ids));
  calls.push(c.stream.publish({ stream: "s" }, { requestId: "mine" }));
  assert.equal((await answer("stream.publish"))["_request_id"], "mine");
  calls.push(c.stream.publish({ stream: "s" }, { requestId: "" }));
  assert.ok(!("_request_id" in (await answer("stream.publish"))));
  calls.push(c.queue.dequeue({ queue: "q", wait_ms: 30_000 }));
  params = await answer("queue.dequeue");
  assert.ok(Number(params["_deadline_ms"]) > 60_000, "wait_ms is added to the time of a call");
  await Promise.all(calls);
});

test("calls side by side get their own replies, in any order", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const calls = Array.from({ length: 100 }, (_, i) => c.call("test.echo", { i }));
  const got = [];
  for (const _ of calls) got.push(await f.next("test.echo"));
  for (const g of got.reverse()) g.peer.reply(g.msgid!, { i: g.params["i"] });
  assert.deepEqual((await Promise.all(calls)).map((r) => r["i"]), calls.map((_, i) => i));
});

test("calls beyond max_inflight wait in the client, and a call with wait_ms is not counted", async (t) => {
  const f = await fake(t);
  f.hello = { limits: { max_frame_bytes: 1 << 20, max_inflight: 2 } };
  const c = await client(t, f.socket);
  const calls = [1, 2, 3].map((i) => c.call("test.echo", { i }));
  void c.call("test.wait", { wait_ms: 1 }).catch(() => undefined);
  const first = await f.next("test.echo");
  await f.next("test.echo");
  await f.next("test.wait"); // sent after the third call
  assert.deepEqual(f.methods, []);
  first.peer.reply(first.msgid!, {});
  assert.equal((await f.next("test.echo")).params["i"], 3);
  await calls[0];
  for (const call of calls) call.catch(() => undefined);
});

test("calls past max_inflight are sent in the order in which they were made", async (t) => {
  const f = await fake(t);
  f.hello = { limits: { max_frame_bytes: 1 << 20, max_inflight: 1 } };
  const c = await client(t, f.socket);
  const calls = [1, 2, 3, 4].map((i) => c.call("test.echo", { i }));
  const sent: unknown[] = [];
  for (const _ of calls) {
    const got = await f.next("test.echo");
    sent.push(got.params["i"]);
    got.peer.reply(got.msgid!, {});
  }
  await Promise.all(calls);
  assert.deepEqual(sent, [1, 2, 3, 4]);
});

test("a call that is aborted makes room for one past max_inflight, and one that was not sent is not cancelled", { timeout }, async (t) => {
  const f = await fake(t);
  f.hello = { limits: { max_frame_bytes: 1 << 20, max_inflight: 1 } };
  const c = await client(t, f.socket);
  const aborts = [0, 1, 2].map(() => new AbortController());
  const calls = aborts.map(({ signal }, i) => c.call("test.echo", { i }, { signal }));
  const first = await f.next("test.echo");
  const ended = [0, 1].map((i) => assert.rejects(calls[i]!, /enough/));
  for (const i of [1, 0]) aborts[i]!.abort(new Error("enough"));
  await Promise.all(ended);
  const third = await f.next("test.echo");
  assert.equal(third.params["i"], 2);
  third.peer.reply(third.msgid!, {});
  await calls[2];
  assert.deepEqual((await f.next("rpc.cancel")).raw, [2, "rpc.cancel", [first.msgid]]);
  assert.deepEqual(f.methods, []);
});

test("a call that has ended has no listener on its signal", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const { signal } = new AbortController();
  const listeners = (): number => getEventListeners(signal, "abort").length;
  const answered = c.call("test.echo", {}, { signal });
  const got = await f.next("test.echo");
  assert.equal(listeners(), 1);
  got.peer.reply(got.msgid!, {});
  await answered;
  assert.equal(listeners(), 0, "it was answered");
  await assert.rejects(c.call("test.echo", {}, { signal, deadlineMs: 1 }));
  assert.equal(listeners(), 0, "its time is over");
  await assert.rejects(c.call("test.echo", { i: Symbol("i") }, { signal }));
  assert.equal(listeners(), 0, "it cannot be sent");
});

test("a deadline ends a call, and the sidecar is asked to cancel it", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  await assert.rejects(c.lock.get({ name: "n" }, { deadlineMs: 1 }), (e) => e instanceof CoxswainError && e.code === "DEADLINE_EXCEEDED" && e.retryable);
  const got = await f.next("lock.get");
  assert.deepEqual((await f.next("rpc.cancel")).raw, [2, "rpc.cancel", [got.msgid]]);
  got.peer.reply(got.msgid!, {}); // late: no caller waits for it
  await c.session.ping();
});

test("an aborted signal cancels a call in the sidecar, and is its error", async (t) => {
  const s = await sidecar(t);
  const c = await client(t, s.socket);
  const other = await client(t, s.socket);
  const held = await other.lock("n");
  const abort = new AbortController();
  const waiting = c.lock("n", { wait_ms: 60_000 }, { signal: abort.signal });
  await until(async () => (await other.lock.get({ name: "n" })).waiting === 1, "it waits");
  abort.abort(new Error("changed my mind"));
  await assert.rejects(waiting, /changed my mind/);
  await until(async () => !(await other.lock.get({ name: "n" })).waiting, "it left the line");
  await held.release();
  await assert.rejects(c.lock("n", {}, { signal: abort.signal }), /changed my mind/); // before it is sent
  assert.equal((await c.lock.get({ name: "n" })).held, false);
});

test("a signal that many calls share causes no warning", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  const warnings: Error[] = [];
  const warned = (w: Error): number => warnings.push(w);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 200 }, () => c.session.ping({}, { signal })));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(warnings, []);
});

test("close ends calls in flight and later calls", async (t) => {
  const f = await fake(t);
  const c = await connect({ socket: f.socket });
  const call = assert.rejects(c.lock.get({ name: "n" }), ClosedError);
  await f.next("lock.get");
  await c.close();
  await call;
  await assert.rejects(c.lock.get({ name: "n" }), ClosedError);
  await c.close();
});

test("the error of an unreachable sidecar has its socket and a remedy", { timeout: LIMIT_MS }, async (t) => {
  const dir = folder(t);
  const absent = join(dir, "absent.sock");
  await assert.rejects(connect({ socket: absent, failFast: true }), (e) =>
    e instanceof ConnectError && e.code === "unreachable" && e.message.includes(absent) && e.message.includes("COXSWAIN_SOCKET") && e.socket === absent);
  await assert.rejects(connect({ socket: absent, deadlineMs: 1 }), ConnectError);
  writeFileSync(join(dir, "file"), "");
  await assert.rejects(connect({ socket: join(dir, "file"), failFast: true }), /nobody listens/);
  // Waiting cannot help here, so connect does not wait.
  await assert.rejects(connect({ socket: join(dir, "x".repeat(200)), deadlineMs: 3_600_000 }), /shorter/);
  const f = await fake(t);
  f.hello = { protocol: 2 };
  await assert.rejects(connect({ socket: f.socket, deadlineMs: 3_600_000 }), /protocol 2/);
});

test("connect waits for a sidecar that starts later", async (t) => {
  const s = await sidecar(t);
  await s.kill();
  const waiting = connect({ socket: s.socket, client: "early", deadlineMs: 60_000 });
  await s.start();
  const c = await waiting;
  assert.equal(c.server.server, "coxswain");
  await c.close();
});

test("bytes that are not a frame end the connection, not the program", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const call = c.lock.get({ name: "n" });
  (await f.next("lock.get")).peer.write(Buffer.from("c1", "hex"));
  const again = await f.next("lock.get"); // on the next connection
  again.peer.reply(again.msgid!, { held: false });
  assert.equal((await call).held, false);
});

test("the error of a busy pool has the reason and the time", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await assert.rejects(c.pool("nothing"), (e) => e instanceof BusyError && e.noun === "pool" && e.resource === "nothing" && e.reason === "empty" && e.retryAfterMs < 0 && !e.retryable);
});

test("params and results are typed by the name of the method", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const types = async (): Promise<void> => {
    const acquired: boolean = (await c.call("lock.acquire", { name: "n" })).acquired;
    const same: string | undefined = (await c.lock.acquire({ name: "n" })).fence;
    // @ts-expect-error a required param is missing
    await c.lock.acquire({ ttl_ms: 5 });
    // @ts-expect-error there is no such param
    await c.lock.acquire({ name: "n", tll_ms: 5 });
    // @ts-expect-error there is no such value
    await c.lock.acquire({ name: "n", bind: "forever" });
    // @ts-expect-error there is no such method
    await c.lock.aquire({ name: "n" });
    assert.fail(String([acquired, same])); // only compiled, never called
  };
  assert.equal(typeof types, "function");
});
