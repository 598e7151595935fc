import type { Caller } from "./caller.js";
import type { Opening, Params, Subscriber } from "./connection.js";
import { ClosedError } from "./errors.js";
import type { PubsubMessage } from "./methods.js";

/** What to hear of, besides channels. */
export interface PubsubOptions {
  /** Globs as of Redis: * ? [ab] and a backslash before what stands for itself. */
  patterns?: string[];
  /** How many messages may wait to be taken, here and as many in the sidecar; absent = 1000, at most 100000. Here they may also have 8 MiB together. */
  buffer?: number;
  /**
   * Called when messages were missed, in their place among the others: so many that were dropped because they were not taken quickly
   * enough, or -1 if it is not known how many, since Redis or the sidecar was not reached for a while.
   */
  onGap?: (dropped: number) => void;
  /** Called when messages will come from now on: first, and whenever the connection to the sidecar was made again. */
  onSubscribed?: () => void;
  /** Ends it: the loop throws the signal's reason. */
  signal?: AbortSignal;
}

const DEFAULT_BUFFER = 1000;
/** Bounds the bodies that wait for the program. */
const MAX_BYTES = 8 << 20;

/**
 * The messages of channels: `for await (const m of c.pubsub("news"))`. A message comes at most once. When the connection to the sidecar
 * breaks it subscribes on the next one, for as long as that takes, and onGap is told -1. The loop throws what the sidecar refuses for
 * good, and a ClosedError when the client is closed.
 */
export class Channels implements AsyncIterable<PubsubMessage> {
  readonly #caller: Caller;
  readonly #channels: string[];
  readonly #options: PubsubOptions;

  constructor(caller: Caller, channels: string | string[], options: PubsubOptions) {
    this.#caller = caller;
    this.#channels = typeof channels === "string" ? [channels] : channels;
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PubsubMessage, void, undefined> {
    const { patterns, buffer, signal, onGap, onSubscribed } = this.#options;
    const feed = new Feed(buffer ?? DEFAULT_BUFFER);
    const opening: Opening = {
      subscribe: "pubsub.subscribe", unsubscribe: "pubsub.unsubscribe", to: feed, params: { channels: this.#channels, patterns, buffer },
    };
    let s = await this.#caller.open(opening, signal);
    const wake = (): void => feed.wake();
    signal?.addEventListener("abort", wake);
    try {
      for (let again = false; ; again = true) {
        onSubscribed?.();
        if (again) onGap?.(-1);
        for (let next = feed.take(); next !== "ended"; next = feed.take()) {
          signal?.throwIfAborted();
          if (next === undefined) await feed.more();
          else if (typeof next === "number") onGap?.(next);
          else yield next;
        }
        if (this.#caller.closed) throw new ClosedError();
        s = await this.#caller.openAgain(opening, signal);
      }
    } finally {
      signal?.removeEventListener("abort", wake);
      // It hears on until then: onEvent would be told of messages that are of no subscription.
      await this.#caller.shut(opening, s);
      s.connection.leave(s.id);
    }
  }
}

/** What the program has not taken so far. What does not fit is dropped and becomes a gap in its place. */
class Feed implements Subscriber {
  readonly #most: number;
  /** Messages and, as numbers, gaps. */
  readonly #items: (PubsubMessage | number)[] = [];
  #first = 0;
  #messages = 0;
  #bytes = 0;
  #ended = false;
  #waiting: (() => void) | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  hear(method: string, params: Params): void {
    if (method === "pubsub.message") {
      const m = params as Params & PubsubMessage;
      const size = m.body.length + m.channel.length;
      if (this.#messages >= this.#most || (this.#messages > 0 && this.#bytes + size > MAX_BYTES)) {
        this.#gap(1);
      } else {
        this.#messages++;
        this.#bytes += size;
        this.#items.push({ ...m, body: m.body.slice() }); // it is a part of all that was read with it
      }
    } else if (method === "pubsub.gap") {
      this.#gap(Number(params["dropped"]));
    }
    this.wake();
  }

  /** Adds a gap, as a part of the one before it if nothing is between them. What is not known stays so. */
  #gap(dropped: number): void {
    const last = this.#items.length > this.#first ? this.#items.at(-1) : undefined;
    if (typeof last === "number") this.#items[this.#items.length - 1] = last < 0 || dropped < 0 ? -1 : last + dropped;
    else this.#items.push(dropped);
  }

  ended(): void {
    this.#ended = true;
    this.wake();
  }

  wake(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }

  /** Returns when there may be something to take. */
  more(): Promise<void> {
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  /** Takes what is first; undefined = nothing yet, ended = nothing more of this connection, which it tells once. */
  take(): PubsubMessage | number | "ended" | undefined {
    if (this.#first === this.#items.length) {
      this.#items.length = this.#first = 0;
      const ended = this.#ended;
      this.#ended = false;
      return ended ? "ended" : undefined;
    }
    const item = this.#items[this.#first]!;
    this.#items[this.#first++] = 0; // what was taken is not kept
    if (typeof item !== "number") {
      this.#messages--;
      this.#bytes -= item.body.length + item.channel.length;
    }
    if (this.#first >= 1024 && 2 * this.#first > this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}
