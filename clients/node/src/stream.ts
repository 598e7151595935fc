import { type Caller, type CallOptions, pauses, type Subscription, temporary } from "./caller.js";
import type { Connection, Opening, Params, Subscriber } from "./connection.js";
import { BrokenError, ClosedError, LostError, ReleasedError } from "./errors.js";
import type { Methods, StreamMessage, StreamNackParams } from "./methods.js";

/** The options of c.stream: the params of stream.subscribe, and more. */
export interface StreamOptions extends Omit<Methods["stream.subscribe"]["params"], "stream" | "prefetch"> {
  /** How many messages may be delivered and not acknowledged, 1 to 1000; absent = the concurrency. */
  prefetch?: number;
  /** Called when the subscription is in effect: at first, and after each reconnection. */
  onSubscribed?: () => void;
  /** Ends the subscription: no further message is started, and the loop throws the signal's reason. */
  signal?: AbortSignal;
}

const DEFAULT_VISIBILITY_MS = 60_000;
const DEFAULT_DELIVERIES = 5;
const MAX_REASON_BYTES = 1000;
/** The nack of a message that the consumer did not begin. */
const UNUSED = { delay_ms: 0, reason: "the consumer ended before it processed the message" };

/** The params of a nack. */
export type Nack = Pick<StreamNackParams, "delay_ms" | "dead" | "reason">;

/** Thrown by a function of consume, sets the delay or the dead letter of the message's nack. */
export class NackError extends Error {
  constructor(message: string, readonly nack: Omit<Nack, "reason"> = {}, options?: ErrorOptions) {
    super(message, options);
  }
}

/** A message that was delivered to this client, which has to acknowledge it. */
export class Message {
  readonly stream: string;
  readonly group: string;
  readonly id: string;
  readonly body: Uint8Array;
  readonly fields: Readonly<Record<string, string>>;
  /** How often it was delivered, from 1. */
  readonly attempt: number;
  readonly publishedAtMs: number;
  /** The W3C trace context of its publisher. */
  readonly traceparent: string | undefined;
  readonly #feed: Feed;
  readonly #controller = new AbortController();

  constructor(feed: Feed, m: StreamMessage) {
    this.#feed = feed;
    this.stream = m.stream;
    this.group = m.group;
    this.id = m.id;
    this.body = m.body?.slice() ?? new Uint8Array(); // a copy, since it is a view of the whole read buffer
    this.fields = m.fields ?? {};
    this.attempt = m.attempt;
    this.publishedAtMs = m.published_at_ms;
    this.traceparent = m.traceparent;
  }

  /** Aborted with a LostError as its reason when another consumer may have the message: it was lost, or the connection ended. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Acknowledges the message after its work: it is not delivered again. If its connection has ended, the ack is sent on another one. */
  async ack(options: CallOptions = {}): Promise<void> {
    await this.#settle("stream.ack", {}, options);
  }

  /** Returns the message: it is delivered again, after a delay that grows with each attempt, or becomes a dead letter after its last attempt. */
  async nack(nack: Nack = {}, options: CallOptions = {}): Promise<void> {
    if (this.signal.aborted) return; // its present consumer settles it
    await this.#settle("stream.nack", { ...nack, reason: nack.reason === undefined ? undefined : cut(nack.reason) }, options);
  }

  /** Restarts the visibility timeout, which only a message with `bind: "ttl"` needs. While the loop runs, it extends such messages itself. */
  async extend(options: CallOptions = {}): Promise<void> {
    const r = await this.#feed.caller.invoke({ method: "stream.extend", params: this.#naming(), options, on: this.#feed.connection });
    if (r["extended"] !== true) this.end(new LostError(String(r["reason"])));
  }

  /** Ends the delivery. */
  end(why: LostError | ReleasedError): void {
    this.#feed.forget(this);
    if (!this.signal.aborted) this.#controller.abort(why);
  }

  async #settle(method: string, more: Params, options: CallOptions): Promise<void> {
    const params = { ...this.#naming(), ...more };
    const { caller, connection } = this.#feed;
    try {
      await caller.invoke({ method, params, options, on: this.signal.aborted ? undefined : connection });
    } catch (error) {
      if (!(error instanceof BrokenError)) throw error;
      // The end of the connection has given the message back; an ack still prevents that it is delivered again.
      if (method === "stream.ack") await caller.invoke({ method, params, options });
    }
    this.end(new ReleasedError());
  }

  #naming(): Params {
    return { stream: this.stream, group: this.group, id: this.id };
  }
}

/** Cuts a reason to the bytes that a dead letter keeps. */
function cut(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= MAX_REASON_BYTES) return reason;
  let end = MAX_REASON_BYTES;
  while ((bytes[end]! & 0xc0) === 0x80) end--; // not within a character
  return bytes.toString("utf8", 0, end);
}

/**
 * The messages of a group of a stream. A message comes at least once: again after a failure, and it may come twice when a connection
 * breaks or Redis fails over. When the connection to the sidecar breaks, it subscribes on the next one, however long that takes.
 *
 *     for await (const m of c.stream("orders", { group: "billing" })) {
 *       await bill(m.body);
 *       await m.ack();
 *     }
 *
 * Leaving the loop makes messages that were not acknowledged due again. The loop throws errors that another try cannot change, and a
 * ClosedError when the client is closed.
 */
export class Stream implements AsyncIterable<Message> {
  readonly #caller: Caller;
  readonly #stream: string;
  readonly #options: StreamOptions;

  constructor(caller: Caller, stream: string, options: StreamOptions) {
    this.#caller = caller;
    this.#stream = stream;
    this.#options = options;
  }

  [Symbol.asyncIterator](): AsyncGenerator<Message, void, undefined> {
    return this.#messages(new Feed(this.#caller), this.#options.prefetch ?? 1);
  }

  /**
   * Calls a function for each message, up to `concurrency` at once. If the function returns, the message is acknowledged. If it throws,
   * the message is delivered again later, or as a NackError sets, and after its last attempt becomes a dead letter with the text of the
   * error. consume ends as the loop does, after all running functions have ended and their messages are settled.
   */
  async consume(fn: (m: Message) => unknown, { concurrency = 1 }: { concurrency?: number } = {}): Promise<never> {
    const feed = new Feed(this.#caller);
    const running = new Set<Promise<void>>();
    const begin = (m: Message): void => {
      feed.begun.add(m);
      const work = this.#work(m, fn).finally(() => running.delete(work));
      running.add(work);
    };
    // A message on its last attempt is started: given back, it would become a dead letter without that attempt.
    const keep = (m: Message): boolean => {
      if (m.attempt < (this.#options.max_deliveries ?? DEFAULT_DELIVERIES)) return false;
      begin(m);
      return true;
    };
    try {
      for await (const m of this.#messages(feed, this.#options.prefetch ?? concurrency, keep)) {
        begin(m);
        while (running.size >= concurrency) await Promise.race(running);
      }
    } finally {
      await Promise.all(running);
    }
    throw new ClosedError(); // not reached: the loop only ends by throwing
  }

  /** Processes one message and settles it. If that fails temporarily it tries again, since the message would stay with this connection. */
  async #work(m: Message, fn: (m: Message) => unknown): Promise<void> {
    let end = (): Promise<void> => m.ack();
    try {
      await fn(m);
    } catch (error) {
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      end = () => m.nack({ ...(error instanceof NackError ? error.nack : {}), reason });
    }
    for (const pause of pauses()) {
      try {
        return await end();
      } catch (error) {
        if (!temporary(error)) return; // it is delivered again after the end of the connection or of its visibility timeout
      }
      await this.#caller.pause(pause);
      if (this.#caller.closed) return;
    }
  }

  /** Yields messages. At its end those that were not started are given back, except those that `keep` starts. */
  async *#messages(feed: Feed, prefetch: number, keep: (m: Message) => boolean = () => false): AsyncGenerator<Message, void, undefined> {
    const { onSubscribed, signal, ...params } = this.#options;
    const opening: Opening = {
      subscribe: "stream.subscribe", unsubscribe: "stream.unsubscribe", to: feed, params: { ...params, stream: this.#stream, prefetch },
      refusal: ({ id }) => ["stream.nack", { stream: this.#stream, group: params.group, id, ...UNUSED }],
    };
    let s = await this.#caller.open(opening, signal);
    const wake = (): void => feed.wake();
    signal?.addEventListener("abort", wake);
    const extending = params.bind === "ttl" ? setInterval(() => void feed.extend(), (params.visibility_ms ?? DEFAULT_VISIBILITY_MS) / 3).unref() : undefined;
    try {
      for (;;) {
        feed.connection = s.connection;
        onSubscribed?.();
        while (!feed.ends()) {
          signal?.throwIfAborted();
          const m = feed.take();
          if (m) yield m;
          else await feed.more();
        }
        if (this.#caller.closed) throw new ClosedError();
        s = await this.#caller.openAgain(opening, signal);
      }
    } finally {
      clearInterval(extending);
      signal?.removeEventListener("abort", wake);
      await this.#leave(opening, s, feed, keep);
    }
  }

  async #leave(opening: Opening, s: Subscription, feed: Feed, keep: (m: Message) => boolean): Promise<void> {
    // The feed stays attached until all messages are settled: the sidecar may send some before its answer.
    await this.#caller.unsubscribe(opening, s);
    const left = [...feed.left()].filter((m) => !keep(m));
    await Promise.all(left.map((m) => m.nack(UNUSED).catch(() => undefined)));
    feed.leave(s);
  }
}

/** The messages of a subscription, over all its connections. The sidecar bounds them by prefetch. */
class Feed implements Subscriber {
  connection: Connection | undefined;
  /** Messages that a function of consume is processing. */
  readonly begun = new Set<Message>();
  readonly #messages = new Map<string, Message>();
  readonly #queue = new Set<Message>();
  #ended = false;
  #left: Subscription | undefined;
  #waiting: (() => void) | undefined;

  constructor(readonly caller: Caller) {}

  receive(method: string, params: Params): void {
    if (method !== "stream.message") return;
    const m = new Message(this, params as Params & StreamMessage);
    this.#messages.get(m.id)?.end(new LostError("it was delivered again"));
    this.#messages.set(m.id, m);
    this.#queue.add(m);
    this.wake();
  }

  /** The connection has ended, and the sidecar gives back all its messages. */
  ended(why: Error): void {
    for (const m of [...this.#messages.values()]) m.end(new LostError(`the connection ended: ${why.message}`));
    this.#ended = true;
    this.wake();
  }

  lost(params: Params): void {
    const m = this.#messages.get(String(params["token"]));
    // The name is the stream, a colon and the group, each with escapes.
    const [stream, group] = String(params["name"]).split(":").map(decode);
    if (m && m.stream === stream && m.group === group) m.end(new LostError(String(params["reason"])));
  }

  /** Reports once that its connection has ended, after all messages that came were taken. */
  ends(): boolean {
    if (!this.#ended || this.#queue.size > 0) return false;
    this.#ended = false;
    return true;
  }

  /** Takes the first message of the queue. */
  take(): Message | undefined {
    for (const m of this.#queue) {
      this.#queue.delete(m);
      return m;
    }
    return undefined;
  }

  /** The messages that are neither settled nor being processed by consume. */
  left(): Message[] {
    return [...this.#messages.values()].filter((m) => !this.begun.has(m));
  }

  forget(m: Message): void {
    this.begun.delete(m);
    this.#queue.delete(m);
    if (this.#messages.get(m.id) === m) this.#messages.delete(m.id);
    this.#stop();
  }

  /** Detaches the feed once all messages are settled. */
  leave(s: Subscription): void {
    this.#left = s;
    this.#stop();
  }

  #stop(): void {
    if (this.#left && this.#messages.size === 0) this.#left.connection.detach(this.#left.id);
  }

  async extend(): Promise<void> {
    await Promise.all([...this.#messages.values()].map((m) => m.extend().catch(() => undefined))); // after a failure the message is lost when its visibility timeout ends
  }

  wake(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }

  /** Returns when there may be something to take. */
  more(): Promise<void> {
    return new Promise((resolve) => (this.#waiting = resolve));
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
