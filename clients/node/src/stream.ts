import { type Caller, type CallOptions, passing, pauses, type Subscription } from "./caller.js";
import type { Connection, Opening, Params, Subscriber } from "./connection.js";
import { BrokenError, ClosedError, LostError, ReleasedError } from "./errors.js";
import type { Methods, StreamMessage, StreamNackParams } from "./methods.js";

/** How a group's messages are delivered: what stream.subscribe takes, and more. */
export interface StreamOptions extends Omit<Methods["stream.subscribe"]["params"], "stream" | "prefetch"> {
  /** How many messages may be here that are not acknowledged, 1 to 1000; absent = as many as are worked on at once. */
  prefetch?: number;
  /** Called when messages will come from now on: first, and whenever the connection to the sidecar was made again. */
  onSubscribed?: () => void;
  /** Ends it: no message is begun any more, and the loop throws the signal's reason. */
  signal?: AbortSignal;
}

const DEFAULT_VISIBILITY_MS = 60_000;
const DEFAULT_DELIVERIES = 5;
const MAX_REASON_BYTES = 1000;
/** How a message is given back that was not begun. */
const UNUSED = { delay_ms: 0, reason: "it was not dealt with: the consumer has left" };

/** What stream.nack takes of a message. */
export type Nack = Pick<StreamNackParams, "delay_ms" | "dead" | "reason">;

/** Has a message delivered again in another way than after other errors, if a function of consume throws it. */
export class NackError extends Error {
  constructor(message: string, readonly nack: Omit<Nack, "reason"> = {}, options?: ErrorOptions) {
    super(message, options);
  }
}

/** A message that this client was sent and has to acknowledge. */
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
    this.body = m.body?.slice() ?? new Uint8Array(); // it is a part of all that was read with it
    this.fields = m.fields ?? {};
    this.attempt = m.attempt;
    this.publishedAtMs = m.published_at_ms;
    this.traceparent = m.traceparent;
  }

  /** Aborted when others may have it, with a LostError as its reason: it was lost, or the connection ended. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** It was dealt with, and does not come again. That is told on another connection if its own has ended. */
  async ack(options: CallOptions = {}): Promise<void> {
    await this.#settle("stream.ack", {}, options);
  }

  /** It was not dealt with: it is delivered again later, later each time, or becomes a dead letter after its last attempt. */
  async nack(nack: Nack = {}, options: CallOptions = {}): Promise<void> {
    if (this.signal.aborted) return; // others say what becomes of it
    await this.#settle("stream.nack", { ...nack, reason: nack.reason === undefined ? undefined : cut(nack.reason) }, options);
  }

  /** Starts its visibility timeout again, which only one that is bound to its TTL needs. Those are extended as long as the loop runs. */
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
      // The end of the connection has given it back: whoever dealt with it says so all the same.
      if (method === "stream.ack") await caller.invoke({ method, params, options });
    }
    this.end(new ReleasedError());
  }

  #naming(): Params {
    return { stream: this.stream, group: this.group, id: this.id };
  }
}

/** Cuts a text to what a dead letter keeps of a reason. */
function cut(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= MAX_REASON_BYTES) return reason;
  let end = MAX_REASON_BYTES;
  while ((bytes[end]! & 0xc0) === 0x80) end--; // not within a character
  return bytes.toString("utf8", 0, end);
}

/**
 * The messages of a group of a stream. A message comes at least once: again after a failure, and it may come twice when a connection
 * breaks or Redis fails over. When the connection to the sidecar breaks it subscribes on the next one, for as long as that takes.
 *
 *     for await (const m of c.stream("orders", { group: "billing" })) {
 *       await bill(m.body);
 *       await m.ack();
 *     }
 *
 * Leaving the loop has what was not acknowledged delivered again. The loop throws what the sidecar refuses for good, and a
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
   * Calls a function for each message, with up to `concurrency` at once. If it returns the message is acknowledged. If it throws the
   * message is delivered again later, or as a NackError says, and becomes a dead letter with the text of the error after its last
   * attempt. It ends as the loop does, when all functions that run have ended and the sidecar was told of their messages.
   */
  async consume(fn: (m: Message) => unknown, { concurrency = 1 }: { concurrency?: number } = {}): Promise<never> {
    const feed = new Feed(this.#caller);
    const running = new Set<Promise<void>>();
    const begin = (m: Message): void => {
      feed.begun.add(m);
      const work = this.#work(m, fn).finally(() => running.delete(work));
      running.add(work);
    };
    // One that was given back on its last attempt would be a dead letter that nobody has tried.
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
    throw new ClosedError(); // the loop itself ends by throwing only
  }

  /** Deals with one message, and tells the sidecar how that ended. While it cannot, it tries again: the message would stay with this connection. */
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
        if (!passing(error)) return; // it is delivered again when the connection ends, or its visibility timeout
      }
      await this.#caller.pause(pause);
      if (this.#caller.closed) return;
    }
  }

  /** Yields messages. At its end those that were not begun are given back, but for those that `keep` takes. */
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
    // It hears on until all is settled: messages that were sent before the answer are this connection's.
    await this.#caller.shut(opening, s);
    const left = [...feed.left()].filter((m) => !keep(m));
    await Promise.all(left.map((m) => m.nack(UNUSED).catch(() => undefined)));
    feed.leave(s);
  }
}

/** The messages of a subscription, over all its connections. The sidecar bounds them by prefetch. */
class Feed implements Subscriber {
  connection: Connection | undefined;
  /** Messages that a function of consume deals with. */
  readonly begun = new Set<Message>();
  readonly #messages = new Map<string, Message>();
  readonly #queue = new Set<Message>();
  #ended = false;
  #left: Subscription | undefined;
  #waiting: (() => void) | undefined;

  constructor(readonly caller: Caller) {}

  hear(method: string, params: Params): void {
    if (method !== "stream.message") return;
    const m = new Message(this, params as Params & StreamMessage);
    this.#messages.get(m.id)?.end(new LostError("it was delivered again"));
    this.#messages.set(m.id, m);
    this.#queue.add(m);
    this.wake();
  }

  /** The sidecar has given back all messages of the connection. */
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

  /** Whether its connection has ended, of which it tells once, when all that came was taken. */
  ends(): boolean {
    if (!this.#ended || this.#queue.size > 0) return false;
    this.#ended = false;
    return true;
  }

  /** Takes the first message that nobody has. */
  take(): Message | undefined {
    for (const m of this.#queue) {
      this.#queue.delete(m);
      return m;
    }
    return undefined;
  }

  /** The messages that are neither settled nor in the hands of consume. */
  left(): Message[] {
    return [...this.#messages.values()].filter((m) => !this.begun.has(m));
  }

  forget(m: Message): void {
    this.begun.delete(m);
    this.#queue.delete(m);
    if (this.#messages.get(m.id) === m) this.#messages.delete(m.id);
    this.#stop();
  }

  /** Hears no more once all messages are settled. */
  leave(s: Subscription): void {
    this.#left = s;
    this.#stop();
  }

  #stop(): void {
    if (this.#left && this.#messages.size === 0) this.#left.connection.leave(this.#left.id);
  }

  async extend(): Promise<void> {
    await Promise.all([...this.#messages.values()].map((m) => m.extend().catch(() => undefined))); // it is lost when its time is over
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
