import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ClosedError, connect, CoxswainError, type Message, type PubsubMessage, type SidecarEvent } from "../src/index.js";
import { client, fake, type Fake, type Got, LIMIT_MS, sidecar, until, way } from "./support.js";

const timeout = 5 * LIMIT_MS;
const text = (m: { body: Uint8Array }): string => Buffer.from(m.body).toString();

/** Answers the next call that subscribes. */
async function subscribe(f: Fake, method: "pubsub.subscribe" | "stream.subscribe", subscription: string): Promise<Got> {
  const got = await f.next(method);
  got.peer.reply(got.msgid!, { subscription, created: true });
  return got;
}

/** Answers the next call of a method. */
async function answer(f: Fake, method: string, result: object): Promise<Got> {
  const got = await f.next(method);
  got.peer.reply(got.msgid!, result);
  return got;
}

const publish = (to: Got, subscription: string, ...bodies: string[]): void => {
  for (const body of bodies) to.peer.notify("pubsub.message", { subscription, channel: "n", body: Buffer.from(body) });
};

const deliver = (to: Got, subscription: string, id: string, more: object = {}): void =>
  to.peer.notify("stream.message", { subscription, stream: "s", group: "g", id, attempt: 1, published_at_ms: 1, ...more });

test("a loop takes all messages that came before the connection ended, then the gap, then those of the next connection", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const taken: (string | number)[] = [];
  const messages = c.pubsub("n", { onGap: (dropped) => taken.push(dropped) })[Symbol.asyncIterator]();
  const first = messages.next();
  const one = await subscribe(f, "pubsub.subscribe", "1");
  publish(one, "1", "a", "b", "c");
  taken.push(text((await first).value as PubsubMessage));
  await c.session.ping(); // its reply comes behind all messages
  one.peer.socket.end();
  await until(() => f.peers.length === 2, "the client connects again");
  void subscribe(f, "pubsub.subscribe", "2").then((two) => publish(two, "2", "d"));
  for (let i = 0; i < 3; i++) taken.push(text((await messages.next()).value as PubsubMessage));
  assert.deepEqual(taken, ["a", "b", "c", -1, "d"]);
});

test("a loop takes all messages that came before close, then throws a ClosedError", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const messages = c.pubsub("n")[Symbol.asyncIterator]();
  const first = messages.next();
  publish(await subscribe(f, "pubsub.subscribe", "1"), "1", "a", "b", "c");
  const taken = [text((await first).value as PubsubMessage)];
  await c.session.ping(); // its reply comes behind all messages
  await c.close();
  for (let i = 0; i < 2; i++) taken.push(text((await messages.next()).value as PubsubMessage));
  await assert.rejects(messages.next(), ClosedError);
  assert.deepEqual(taken, ["a", "b", "c"]);
  await until(() => f.peers.every((peer) => peer.socket.destroyed), "the connection is closed");
});

test("a loop does not take a message of a stream whose connection has ended, since another consumer may have it", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const messages = c.stream("s", { group: "g", prefetch: 2 })[Symbol.asyncIterator]();
  const first = messages.next();
  const one = await subscribe(f, "stream.subscribe", "1");
  for (const id of ["1-0", "2-0"]) deliver(one, "1", id);
  await first;
  await c.session.ping(); // its reply comes behind all messages
  one.peer.socket.end();
  await until(() => f.peers.length === 2, "the client connects again");
  void subscribe(f, "stream.subscribe", "2").then((two) => deliver(two, "2", "2-0", { attempt: 2 }));
  const next = (await messages.next()).value as Message;
  assert.deepEqual([next.id, next.attempt, next.signal.aborted], ["2-0", 2, false]);
});

test("a loop takes the messages of a stream in the order in which they came", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const messages = c.stream("s", { group: "g", prefetch: 5 })[Symbol.asyncIterator]();
  const first = messages.next();
  const got = await f.next("stream.subscribe");
  for (const id of ["1-0", "2-0"]) deliver(got, "7", id); // before the answer that names the subscription
  got.peer.reply(got.msgid!, { subscription: "7", created: true });
  for (const id of ["3-0", "4-0", "5-0"]) deliver(got, "7", id);
  const taken = [((await first).value as Message).id];
  await c.session.ping(); // its reply comes behind all messages
  for (let i = 0; i < 4; i++) taken.push(((await messages.next()).value as Message).id);
  assert.deepEqual(taken, ["1-0", "2-0", "3-0", "4-0", "5-0"]);
});

test("consume begins the messages of a stream in the order in which they came", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const stop = new AbortController();
  const begun: string[] = [];
  const ended = assert.rejects(c.stream("s", { group: "g", prefetch: 4, signal: stop.signal }).consume((m) => begun.push(m.id)), /enough/);
  const got = await f.next("stream.subscribe");
  for (const id of ["1-0", "2-0"]) deliver(got, "7", id); // before the answer that names the subscription
  got.peer.reply(got.msgid!, { subscription: "7", created: true });
  for (const id of ["3-0", "4-0"]) deliver(got, "7", id);
  for (let i = 0; i < 4; i++) await answer(f, "stream.ack", { acked: true });
  stop.abort(new Error("enough"));
  await answer(f, "stream.unsubscribe", { unsubscribed: true });
  await ended;
  assert.deepEqual(begun, ["1-0", "2-0", "3-0", "4-0"]);
});

test("consume ends after the last function that its signal left running, and after the acknowledgement of its message", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const stop = new AbortController();
  const order: string[] = [];
  const finish = new Map<string, () => void>();
  const ended = c.stream("s", { group: "g", signal: stop.signal }).consume(async (m) => {
    await new Promise<void>((resolve) => finish.set(m.id, resolve));
    order.push(`${m.id} returns`);
  }, { concurrency: 3 }).catch((error: Error) => order.push(error.message));
  const got = await subscribe(f, "stream.subscribe", "7");
  for (const id of ["1-0", "2-0"]) deliver(got, "7", id);
  await until(() => finish.size === 2, "both functions run");
  stop.abort(new Error("enough"));
  await answer(f, "stream.unsubscribe", { unsubscribed: true });
  for (const id of ["1-0", "2-0"]) {
    await c.session.ping(); // a consume that did not wait would have ended by its reply
    finish.get(id)!();
    const ack = await f.next("stream.ack");
    await c.session.ping();
    order.push(`${id} is acknowledged`);
    ack.peer.reply(ack.msgid!, { acked: true });
  }
  await ended;
  assert.deepEqual(order, ["1-0 returns", "1-0 is acknowledged", "2-0 returns", "2-0 is acknowledged", "enough"]);
});

test("consume ends after the last function that close left running", { timeout }, async (t) => {
  const f = await fake(t);
  const [c, other] = [await client(t, f.socket), await client(t, f.socket)];
  const order: string[] = [];
  const finish = new Map<string, () => void>();
  const ended = c.stream("s", { group: "g" }).consume(async (m) => {
    await new Promise<void>((resolve) => finish.set(m.id, resolve));
    order.push(`${m.id} returns`);
  }, { concurrency: 3 }).catch((error: unknown) => order.push(error instanceof ClosedError ? "closed" : String(error)));
  const got = await subscribe(f, "stream.subscribe", "7");
  for (const id of ["1-0", "2-0"]) deliver(got, "7", id);
  await until(() => finish.size === 2, "both functions run");
  await c.close();
  for (const id of ["1-0", "2-0"]) {
    await other.session.ping(); // a consume that did not wait would have ended by its reply
    finish.get(id)!();
  }
  await ended;
  assert.deepEqual(order, ["1-0 returns", "2-0 returns", "closed"]);
});

test("leaving a loop of a channel unsubscribes", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const messages = c.pubsub("n")[Symbol.asyncIterator]();
  const first = messages.next();
  publish(await subscribe(f, "pubsub.subscribe", "7"), "7", "a");
  await first;
  const left = messages.return!(undefined);
  const end = await answer(f, "pubsub.unsubscribe", { unsubscribed: true });
  assert.equal(end.params["subscription"], "7");
  await left;
});

test("the client keeps nothing that the sidecar sends for a subscription that was left", { timeout }, async (t) => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const kept = (): number => (gc(), process.memoryUsage().arrayBuffers);
  const f = await fake(t);
  const c = await client(t, f.socket);
  const body = Buffer.alloc(1 << 18);
  const loops = {
    pubsub: () => c.pubsub("n"),
    stream: () => c.stream("s", { group: "g" }),
  };
  const before = kept();
  for (let i = 0; i < 10; i++) {
    for (const noun of ["pubsub", "stream"] as const) {
      const messages = loops[noun]()[Symbol.asyncIterator]();
      const first = messages.next();
      const subscription = `${noun}-${i}`;
      const got = await subscribe(f, `${noun}.subscribe`, subscription);
      const send = (): void =>
        noun === "pubsub" ? got.peer.notify("pubsub.message", { subscription, channel: "n", body }) : deliver(got, subscription, "1-0", { body });
      send();
      await first;
      const left = messages.return!(undefined);
      await answer(f, `${noun}.unsubscribe`, { unsubscribed: true });
      if (noun === "stream") await answer(f, "stream.nack", { nacked: true });
      await left;
      send();
      await c.session.ping(); // its reply comes behind the message
    }
  }
  await until(() => kept() < before + 5 * body.length, "the messages of 20 subscriptions are not kept");
});

test("a subscription that has ended has no listener on its signal", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const { signal } = new AbortController();
  const listeners = (): number => getEventListeners(signal, "abort").length;
  for (const noun of ["pubsub", "stream"] as const) {
    const messages: AsyncIterator<unknown> = (noun === "pubsub" ? c.pubsub("n", { signal }) : c.stream("s", { group: "g", signal }))[Symbol.asyncIterator]();
    const first = messages.next();
    const got = await subscribe(f, `${noun}.subscribe`, noun);
    if (noun === "pubsub") publish(got, noun, "a");
    else deliver(got, noun, "1-0");
    await first;
    assert.equal(listeners(), 1, `${noun}: a loop that waits is woken by its signal`);
    const left = messages.return!(undefined);
    await answer(f, `${noun}.unsubscribe`, { unsubscribed: true });
    if (noun === "stream") await answer(f, "stream.nack", { nacked: true });
    await left;
    assert.equal(listeners(), 0, noun);
  }
});

test("a client that was closed has no listener on the signals of its subscriptions and calls", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await connect({ socket: f.socket });
  const { signal } = new AbortController();
  const ended = [c.pubsub("n", { signal })[Symbol.asyncIterator]().next(), c.stream("s", { group: "g", signal }).consume(() => undefined), c.lock.get({ name: "n" }, { signal })]
    .map((ends) => assert.rejects(ends, ClosedError));
  await Promise.all([subscribe(f, "pubsub.subscribe", "1"), subscribe(f, "stream.subscribe", "2"), f.next("lock.get")]);
  await c.session.ping(); // its reply comes behind the answers
  await c.close();
  await Promise.all(ended);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("onEvent is not told of a message of a channel whose loop ends", { timeout }, async (t) => {
  const f = await fake(t);
  const events: SidecarEvent[] = [];
  const c = await client(t, f.socket, { onEvent: (event) => events.push(event) });
  const messages = c.pubsub("n")[Symbol.asyncIterator]();
  const first = messages.next();
  const got = await subscribe(f, "pubsub.subscribe", "7");
  publish(got, "7", "a");
  await first;
  const left = messages.return!(undefined);
  const end = await f.next("pubsub.unsubscribe");
  publish(got, "7", "b"); // the sidecar has not read that it is to unsubscribe
  end.peer.reply(end.msgid!, { unsubscribed: true });
  await left;
  await c.session.ping();
  assert.deepEqual(events, []);
});

test("a message that was sent to a consumer whose subscription was aborted before its answer goes to another consumer", { timeout }, async (t) => {
  const { socket } = await sidecar(t);
  const w = await way(t, socket);
  const [c, other] = [await client(t, w.socket), await client(t, socket)];
  await other.stream.publish({ stream: "s", body: Buffer.from("a") });
  const release = w.hold();
  const stop = new AbortController();
  const aborted = assert.rejects(c.stream("s", { group: "g", signal: stop.signal })[Symbol.asyncIterator]().next(), /enough/);
  await until(async () => (await other.stream.stats({ stream: "s" })).groups[0]?.pending === 1, "the message is sent");
  stop.abort(new Error("enough"));
  await aborted;
  release();
  for await (const m of other.stream("s", { group: "g" })) {
    assert.deepEqual([text(m), m.attempt], ["a", 2]);
    await m.ack();
    break;
  }
});

for (const noun of ["pubsub", "stream"] as const) {
  test(`a subscription of ${noun} that is answered when its caller has gone is ended, and its messages are given back`, { timeout }, async (t) => {
    const f = await fake(t);
    const events: SidecarEvent[] = [];
    const c = await client(t, f.socket, { onEvent: (event) => events.push(event) });
    const stop = new AbortController();
    const { signal } = stop;
    const messages: AsyncIterator<unknown> = (noun === "pubsub" ? c.pubsub("n", { signal }) : c.stream("s", { group: "g", signal }))[Symbol.asyncIterator]();
    const next = assert.rejects(messages.next(), /enough/);
    const got = await f.next(`${noun}.subscribe`);
    stop.abort(new Error("enough"));
    await next;
    assert.deepEqual((await f.next("rpc.cancel")).raw, [2, "rpc.cancel", [got.msgid]]);
    const send = (id: string): void => (noun === "pubsub" ? publish(got, "7", id) : deliver(got, "7", id));
    send("1-0"); // before the answer that names the subscription
    got.peer.reply(got.msgid!, { subscription: "7", created: true });
    send("2-0");
    const end = await f.next(`${noun}.unsubscribe`);
    assert.equal(end.params["subscription"], "7");
    send("3-0");
    end.peer.reply(end.msgid!, { unsubscribed: true });
    await c.session.ping(); // its reply comes behind all messages
    if (noun === "stream") {
      for (const id of ["1-0", "2-0", "3-0"]) {
        const back = await f.next("stream.nack");
        assert.deepEqual([back.msgid, back.params["stream"], back.params["group"], back.params["id"], back.params["delay_ms"]], [undefined, "s", "g", id, 0]);
      }
    }
    assert.deepEqual(f.methods, []);
    assert.deepEqual(events, []);
  });

  test(`a subscription of ${noun} is opened again until the sidecar refuses it for good`, { timeout }, async (t) => {
    const f = await fake(t);
    const c = await client(t, f.socket);
    let subscribed = 0;
    const onSubscribed = (): unknown => subscribed++;
    const messages: AsyncIterator<unknown> = (noun === "pubsub" ? c.pubsub("n", { onSubscribed }) : c.stream("s", { group: "g", onSubscribed }))[Symbol.asyncIterator]();
    const ended = assert.rejects(messages.next(), (e) => e instanceof CoxswainError && e.code === "PERMISSION_DENIED");
    (await f.next(`${noun}.subscribe`)).peer.socket.destroy(); // before its answer
    (await subscribe(f, `${noun}.subscribe`, "1")).peer.socket.end();
    for (const code of ["UNAVAILABLE", "DEADLINE_EXCEEDED", "PERMISSION_DENIED"]) {
      const got = await f.next(`${noun}.subscribe`);
      got.peer.fail(got.msgid!, code, { retryable: code === "UNAVAILABLE" });
    }
    await ended;
    assert.equal(subscribed, 1);
  });
}

test("a gap of which it is not known how many it has stays so when more are dropped", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const gaps: number[] = [];
  const messages = c.pubsub("n", { buffer: 1, onGap: (dropped) => gaps.push(dropped) })[Symbol.asyncIterator]();
  const first = messages.next();
  const got = await subscribe(f, "pubsub.subscribe", "7");
  publish(got, "7", "a");
  await first;
  publish(got, "7", "b");
  for (const dropped of [-1, 5, -1]) got.peer.notify("pubsub.gap", { subscription: "7", dropped });
  publish(got, "7", "c"); // for which is no place
  await c.session.ping(); // its reply comes behind all messages
  assert.equal(text((await messages.next()).value as PubsubMessage), "b");
  const last = messages.next();
  publish(got, "7", "d");
  assert.equal(text((await last).value as PubsubMessage), "d");
  assert.deepEqual(gaps, [-1]);
});

test("messages that were taken make room for others, by their number and by their bytes", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const gaps: number[] = [];
  const messages = c.pubsub("n", { buffer: 8, onGap: (dropped) => gaps.push(dropped) })[Symbol.asyncIterator]();
  const first = messages.next();
  const got = await subscribe(f, "pubsub.subscribe", "7");
  publish(got, "7", "a");
  await first;
  const large = "x".repeat(1 << 20);
  for (const sent of [7, 8]) {
    publish(got, "7", ...Array<string>(sent).fill(large));
    await c.session.ping(); // its reply comes behind all messages
    for (let i = 0; i < 7; i++) assert.equal(((await messages.next()).value as PubsubMessage).body.length, large.length);
    assert.deepEqual(gaps, []);
  }
  const last = messages.next();
  publish(got, "7", "b");
  assert.equal(text((await last).value as PubsubMessage), "b");
  assert.deepEqual(gaps, [1], "8 MiB and the names of their channels do not wait together");
});

test("a body is a Uint8Array with memory of its own", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const body = Buffer.from("a");
  const [channel, stream, entry] = [c.pubsub("n")[Symbol.asyncIterator]().next(), c.stream("s", { group: "g" })[Symbol.asyncIterator]().next(), c.queue("q")];
  publish(await subscribe(f, "pubsub.subscribe", "1"), "1", "a");
  deliver(await subscribe(f, "stream.subscribe", "2"), "2", "1-0", { body });
  await answer(f, "queue.dequeue", { found: true, id: "1", lease: "secret", attempt: 1, body, retry_after_ms: 0 });
  for (const got of [(await channel).value as PubsubMessage, (await stream).value as Message, await entry]) {
    assert.deepEqual([got.body.constructor, got.body.length, got.body.buffer.byteLength], [Uint8Array, 1, 1]);
  }
  const read = c.stream.read({ stream: "s" });
  await answer(f, "stream.read", { messages: [{ id: "1-0", body }] });
  assert.equal((await read).messages[0]!.body!.constructor, Uint8Array);
});

test("consume tells the sidecar of a message again until it was heard", { timeout }, async (t) => {
  const f = await fake(t);
  const c = await client(t, f.socket);
  const stop = new AbortController();
  const ended = assert.rejects(c.stream("s", { group: "g", signal: stop.signal }).consume(() => undefined), /enough/);
  deliver(await subscribe(f, "stream.subscribe", "7"), "7", "1-0");
  const refused = await f.next("stream.ack");
  refused.peer.fail(refused.msgid!, "UNAVAILABLE", { retryable: true });
  assert.equal((await answer(f, "stream.ack", { acked: true })).params["id"], "1-0");
  stop.abort(new Error("enough"));
  await answer(f, "stream.unsubscribe", { unsubscribed: true });
  await ended;
});
