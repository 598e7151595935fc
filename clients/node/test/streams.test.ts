import assert from "node:assert/strict";
import { test } from "node:test";
import { type Client, ClosedError, LostError, type Message, NackError, type PubsubMessage } from "../src/index.js";
import { client, fake, redis, sidecar, until } from "./support.js";

const text = (m: { body: Uint8Array }): string => Buffer.from(m.body).toString();
const publish = (c: Client, ...bodies: string[]): Promise<unknown> =>
  c.stream.publish_many({ stream: "s", messages: bodies.map((body) => ({ body: Buffer.from(body) })) });
const pending = async (c: Client): Promise<number | undefined> => (await c.stream.stats({ stream: "s" })).groups[0]?.pending;

test("a loop gets messages in their order and acknowledges them", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await publish(c, "a", "b\x00", "c");
  const got: string[] = [];
  for await (const m of c.stream("s", { group: "g" })) {
    got.push(text(m));
    await m.ack();
    if (got.length === 3) break;
  }
  assert.deepEqual(got, ["a", "b\x00", "c"]);
  assert.equal(await pending(c), 0);
});

test("leaving a loop gives back at once the messages that were not acknowledged", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await publish(c, "a", "b", "c");
  const loop = async (): Promise<void> => {
    for await (const m of c.stream("s", { group: "g", prefetch: 3 })) throw new Error(text(m));
  };
  await assert.rejects(loop(), /a/);
  const attempts = new Map<string, number>();
  for await (const m of c.stream("s", { group: "g" })) {
    attempts.set(text(m), m.attempt);
    await m.ack();
    if (attempts.size === 3) break;
  }
  assert.equal(attempts.get("a"), 2);
});

test("a message that is given back is delivered at once, with a reason", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const messages = c.stream("s", { group: "g", prefetch: 2 })[Symbol.asyncIterator]();
  const next = messages.next();
  const got = await f.next("stream.subscribe");
  got.peer.reply(got.msgid!, { subscription: "7", created: true });
  for (const id of ["1-0", "2-0"]) got.peer.notify("stream.message", { subscription: "7", stream: "s", group: "g", id, attempt: 1, published_at_ms: 1 });
  await next;
  const left = messages.return!(undefined);
  const end = await f.next("stream.unsubscribe");
  assert.equal(end.params["subscription"], "7");
  end.peer.reply(end.msgid!, { unsubscribed: true });
  for (const id of ["1-0", "2-0"]) {
    const nack = await f.next("stream.nack");
    assert.deepEqual([nack.params["id"], nack.params["delay_ms"], typeof nack.params["reason"]], [id, 0, "string"]);
    nack.peer.reply(nack.msgid!, { nacked: true });
  }
  await left;
});

test("consume runs up to concurrency functions at once, and a message that always fails ends as a dead letter", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await publish(c, "1", "2", "poison", "3");
  const stop = new AbortController();
  const seen: [string, number][] = [];
  let most = 0;
  let running = 0;
  const ended = c.stream("s", { group: "g", signal: stop.signal, max_deliveries: 2 }).consume(async (m: Message) => {
    most = Math.max(most, ++running);
    await until(() => most === 2 || seen.length > 0, "two run at once");
    running--;
    seen.push([text(m), m.attempt]);
    if (text(m) === "poison") throw new NackError("no good", { delay_ms: 1 });
    if (text(m) === "3") throw new NackError("at once", { dead: true });
  }, { concurrency: 2 });
  await until(async () => (await c.stream.stats({ stream: "s" })).dead === 2 && (await pending(c)) === 0, "all messages are processed");
  stop.abort(new Error("enough"));
  await assert.rejects(ended, /enough/);
  assert.equal(most, 2);
  assert.deepEqual(seen.filter(([body]) => body === "poison"), [["poison", 1], ["poison", 2]]);
  const letters = (await c.stream.dead({ stream: "s" })).letters;
  assert.deepEqual(letters.map((l) => [l.reason, l.attempts]).sort(), [["Error: at once", 1], ["Error: no good", 2]]);
});

test("consume waits for its functions, and acknowledges after the end of the subscription", async (t) => {
  const c = await client(t, (await sidecar(t)).socket);
  await publish(c, "a", "b");
  const stop = new AbortController();
  let finish = (): void => {};
  const working = new Promise<void>((resolve) => (finish = resolve));
  let begun = 0;
  const ended = c.stream("s", { group: "g", prefetch: 2, signal: stop.signal }).consume(async () => (begun++, await working));
  await until(() => begun === 1, "the function has begun");
  stop.abort(new Error("enough"));
  finish();
  await assert.rejects(ended, /enough/);
  assert.equal(begun, 1);
  for await (const m of c.stream("s", { group: "g" })) {
    assert.deepEqual([text(m), m.attempt], ["b", 2]); // the other message was given back
    await m.ack();
    break;
  }
  assert.equal(await pending(c), 0);
});

test("prefetch is the concurrency unless it is set", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const asked = async (begin: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> => {
    const stop = new AbortController();
    const ended = assert.rejects(begin(stop.signal), /enough/);
    const got = await f.next("stream.subscribe");
    got.peer.reply(got.msgid!, { subscription: "7", created: true });
    stop.abort(new Error("enough"));
    const end = await f.next("stream.unsubscribe");
    end.peer.reply(end.msgid!, { unsubscribed: true });
    await ended;
    return got.params["prefetch"];
  };
  const work = (): void => undefined;
  assert.equal(await asked((signal) => c.stream("s", { group: "g", signal })[Symbol.asyncIterator]().next()), 1);
  assert.equal(await asked((signal) => c.stream("s", { group: "g", signal, prefetch: 9 })[Symbol.asyncIterator]().next()), 9);
  assert.equal(await asked((signal) => c.stream("s", { group: "g", signal }).consume(work, { concurrency: 4 })), 4);
  assert.equal(await asked((signal) => c.stream("s", { group: "g", signal, prefetch: 9 }).consume(work, { concurrency: 4 })), 9);
});

test("an ack whose reply is lost is sent again on the next connection, and a nack is not", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const messages = c.stream("s", { group: "g", prefetch: 2 })[Symbol.asyncIterator]();
  const next = messages.next();
  const got = await f.next("stream.subscribe");
  got.peer.reply(got.msgid!, { subscription: "7", created: true });
  for (const id of ["1-0", "2-0"]) got.peer.notify("stream.message", { subscription: "7", stream: "s", group: "g", id, attempt: 1, published_at_ms: 1 });
  const [one, two] = [(await next).value as Message, (await messages.next()).value as Message];
  const settled = Promise.all([one.ack(), two.nack({ reason: "x" + "é".repeat(600) })]);
  const [, nack] = await Promise.all([f.next("stream.ack"), f.next("stream.nack")]);
  assert.equal(nack.params["reason"], "x" + "é".repeat(499), "cut to the bytes that a dead letter keeps, between characters");
  got.peer.socket.destroy();
  const ack = await f.next("stream.ack");
  assert.equal(ack.params["id"], "1-0");
  ack.peer.reply(ack.msgid!, { acked: true });
  await settled;
  assert.equal(f.methods.includes("stream.nack"), false, "the end of the connection gave it back");
});

test("a consumer that leaves starts messages on their last attempt instead of giving them back", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const stop = new AbortController();
  const begun: string[] = [];
  const ended = assert.rejects(c.stream("s", { group: "g", prefetch: 3, max_deliveries: 2, signal: stop.signal }).consume(async (m) => {
    begun.push(m.id);
    await until(() => stop.signal.aborted, "it leaves");
  }), /enough/);
  const got = await f.next("stream.subscribe");
  got.peer.reply(got.msgid!, { subscription: "7", created: true });
  for (const [id, attempt] of [["1-0", 1], ["2-0", 2], ["3-0", 1]]) {
    got.peer.notify("stream.message", { subscription: "7", stream: "s", group: "g", id, attempt, published_at_ms: 1 });
  }
  await until(() => begun.length === 1, "the first has begun");
  stop.abort(new Error("enough"));
  const answers: Record<string, string> = {};
  for (const method of ["stream.ack", "stream.unsubscribe", "stream.ack", "stream.nack"]) {
    const call = await f.next(method);
    answers[String(call.params["id"] ?? call.params["subscription"])] = method;
    call.peer.reply(call.msgid!, { acked: true, nacked: true, unsubscribed: true });
  }
  await ended;
  assert.deepEqual(answers, { "1-0": "stream.ack", "7": "stream.unsubscribe", "2-0": "stream.ack", "3-0": "stream.nack" });
  assert.deepEqual(begun, ["1-0", "2-0"]);
});

test("a consumer goes on when its sidecar was killed, and its message is lost to it", { timeout: 120_000 }, async (t) => {
  const s = await sidecar(t, await redis(t));
  const c = await client(t, s.socket);
  await publish(c, "a");
  let subscribed = 0;
  const messages = c.stream("s", { group: "g", visibility_ms: 5000, onSubscribed: () => subscribed++ })[Symbol.asyncIterator]();
  const first = (await messages.next()).value as Message;
  await s.kill();
  await until(() => first.signal.aborted, "the loss is reported");
  assert.ok(first.signal.reason instanceof LostError);
  const next = messages.next();
  await s.start();
  const again = (await next).value as Message;
  assert.deepEqual([text(again), again.attempt, subscribed], ["a", 2, 2]);
  await first.ack(); // an ack after the loss is sent too
  await until(async () => (await pending(c)) === 0, "it is acknowledged");
  await messages.return!(undefined);
});

test("messages that are bound to their TTL are extended while the loop runs", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const messages = c.stream("s", { group: "g", bind: "ttl", visibility_ms: 300 })[Symbol.asyncIterator]();
  const next = messages.next();
  const got = await f.next("stream.subscribe");
  // Before the answer that has the id of the subscription.
  got.peer.notify("stream.message", { subscription: "7", stream: "s", group: "g", id: "1-0", attempt: 1, published_at_ms: 1, fields: { k: "v" } });
  got.peer.reply(got.msgid!, { subscription: "7", created: true });
  const m = (await next).value as Message;
  assert.deepEqual([m.id, m.fields, m.body.length], ["1-0", { k: "v" }, 0]);
  const extend = await f.next("stream.extend");
  extend.peer.reply(extend.msgid!, { extended: true, reason: "extended" });
  const last = await f.next("stream.extend");
  last.peer.reply(last.msgid!, { extended: false, reason: "not_owner" });
  await until(() => m.signal.aborted, "the loss is reported");
});

test("stream.lost loses the message that it names, and no other", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const messages = c.stream("a:b", { group: "g", prefetch: 2 })[Symbol.asyncIterator]();
  const next = messages.next();
  const got = await f.next("stream.subscribe");
  got.peer.reply(got.msgid!, { subscription: "7", created: true });
  for (const id of ["1-0", "2-0"]) got.peer.notify("stream.message", { subscription: "7", stream: "a:b", group: "g", id, attempt: 1, published_at_ms: 1 });
  const [one, two] = [(await next).value as Message, (await messages.next()).value as Message];
  got.peer.notify("stream.lost", { name: "other:g", token: "2-0", fence: "", reason: "expired" });
  got.peer.notify("stream.lost", { name: "a%3Ab:g", token: "1-0", fence: "", reason: "expired" });
  await until(() => one.signal.aborted, "the loss is reported");
  assert.equal(two.signal.aborted, false);
  got.peer.notify("stream.message", { subscription: "7", stream: "a:b", group: "g", id: "2-0", attempt: 2, published_at_ms: 1 });
  await until(() => two.signal.aborted, "it is delivered again");
  assert.ok(two.signal.reason instanceof LostError);
  const again = (await messages.next()).value as Message;
  assert.deepEqual([again.attempt, again.signal.aborted], [2, false]);
});

test("messages of a channel are received until the loop is left", async (t) => {
  const { socket } = await sidecar(t);
  const [c, other] = [await client(t, socket), await client(t, socket)];
  const got: PubsubMessage[] = [];
  let subscribed = 0;
  const loop = (async () => {
    for await (const m of c.pubsub("news", { patterns: ["alert.*"], onSubscribed: () => subscribed++ })) {
      got.push(m);
      if (got.length === 2) break;
    }
  })();
  await until(() => subscribed === 1, "it is subscribed");
  await other.pubsub.publish({ channel: "news", body: Buffer.from("1") });
  await other.pubsub.publish({ channel: "alert.disk", body: Buffer.from("2") });
  await loop;
  assert.deepEqual(got.map((m) => [m.channel, m.pattern, text(m)]), [["news", undefined, "1"], ["alert.disk", "alert.*", "2"]]);
  await until(async () => (await other.pubsub.publish({ channel: "news", body: Buffer.from("3") })).receivers === 0, "no sidecar listens any more");
});

test("messages that are not taken in time are dropped and reported as a gap, in their place", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const gaps: (number | string)[] = [];
  const messages = c.pubsub("n", { buffer: 2, onGap: (dropped) => gaps.push(dropped) })[Symbol.asyncIterator]();
  const next = messages.next();
  const got = await f.next("pubsub.subscribe");
  assert.deepEqual([got.params["channels"], got.params["buffer"]], [["n"], 2]);
  got.peer.reply(got.msgid!, { subscription: "7" });
  const send = (body: string): void => got.peer.notify("pubsub.message", { subscription: "7", channel: "n", body: Buffer.from(body) });
  send("0");
  gaps.push(text((await next).value as PubsubMessage));
  for (const body of ["1", "2", "3", "4"]) send(body);
  got.peer.notify("pubsub.gap", { subscription: "7", dropped: 5 });
  got.peer.notify("event", { kind: "x", at_ms: 1, count: 1 });
  await c.session.ping(); // after its answer all messages were read
  for (let i = 0; i < 2; i++) gaps.push(text((await messages.next()).value as PubsubMessage));
  const last = messages.next();
  send("8");
  gaps.push(text((await last).value as PubsubMessage));
  assert.deepEqual(gaps, ["0", "1", "2", 7, "8"]);
});

test("a subscription goes on on the next connection, with a gap", async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const gaps: number[] = [];
  const messages = c.pubsub(["n"], { onGap: (dropped) => gaps.push(dropped) })[Symbol.asyncIterator]();
  const next = messages.next();
  for (const subscription of ["1", "2"]) {
    const got = await f.next("pubsub.subscribe");
    got.peer.reply(got.msgid!, { subscription });
    if (subscription === "1") got.peer.socket.end();
    else got.peer.notify("pubsub.message", { subscription, channel: "n", body: Buffer.from("x") });
  }
  assert.equal(text((await next).value as PubsubMessage), "x");
  assert.deepEqual(gaps, [-1]);
});

test("loops end by their signal and with their client", async (t) => {
  const { socket } = await sidecar(t);
  const c = await client(t, socket);
  const stop = new AbortController();
  const loop = async (of: AsyncIterable<unknown>): Promise<void> => {
    for await (const m of of) assert.fail(String(m));
  };
  let subscribed = 0;
  const onSubscribed = (): unknown => subscribed++;
  const aborted = [loop(c.pubsub("n", { signal: stop.signal, onSubscribed })), loop(c.stream("s", { group: "g", signal: stop.signal, onSubscribed }))];
  const closed = [loop(c.pubsub("n", { onSubscribed })), loop(c.stream("t", { group: "g", onSubscribed }))];
  await until(() => subscribed === 4, "all are subscribed");
  const stops = aborted.map((ended) => assert.rejects(ended, /enough/));
  const ends = closed.map((ended) => assert.rejects(ended, ClosedError));
  stop.abort(new Error("enough"));
  await Promise.all(stops);
  await c.close();
  await Promise.all(ends);
});
