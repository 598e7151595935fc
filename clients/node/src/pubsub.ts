import type { Caller } from "./caller.js";
import type { Opening, Params, Subscriber } from "./connection.js";
import { ClosedError } from "./errors.js";
import type { PubsubMessage } from "./methods.js";

/** The options of c.pubsub. */
export interface PubsubOptions {
  /** Globs in the syntax of Redis: * ? [ab] and a backslash before a literal character. */
  patterns?: string[];
  /** How many messages may wait here, and as many in the sidecar; absent = 1000, at most 100000. Here they also have at most 8 MiB together. */
  buffer?: number;
  /**
   * Called when messages were missed, in their place among the others, with the number that was dropped because they were not taken
   * quickly enough, or -1 if the number is not known, since Redis or the sidecar was not reached for a while.
   */
  onGap?: (dropped: number) => void;
  /** Called when the subscription is in effect: at first, and after each reconnection. */
  onSubscribed?: () => void;
  /** Ends the subscription: the loop throws the signal's reason. */
  signal?: AbortSignal;
}

const DEFAULT_BUFFER = 1000;
/** The most bytes of messages that wait for the program. */
const MAX_BYTES = 8 << 20;

/**
 * The messages of channels: `for await (const m of c.pubsub("news"))`. A message comes at most once. When the connection to the sidecar
 * breaks, it subscribes on the next one, however long that takes, and calls onGap with -1. The loop throws errors that another try
 * cannot change, and a ClosedError when the client is closed.
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
      // Detached only now: before, the messages of this subscription would go to onEvent.
      await this.#caller.unsubscribe(opening, s);
      s.connection.detach(s.id);
    }
  }
}

/** The messages that the program has not taken yet. Messages that do not fit are dropped, and a gap takes their place. */
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

  receive(method: string, params: Params): void {
    if (method === "pubsub.message") {
      const m = params as Params & PubsubMessage;
      const size = m.body.length + m.channel.length;
      if (this.#messages >= this.#most || (this.#messages > 0 && this.#bytes + size > MAX_BYTES)) {
        this.#gap(1);
      } else {
        this.#messages++;
        this.#bytes += size;
        this.#items.push({ ...m, body: m.body.slice() }); // a copy, since it is a view of the whole read buffer
      }
    } else if (method === "pubsub.gap") {
      this.#gap(Number(params["dropped"]));
    }
    this.wake();
  }

  /** Adds a gap, or adds its number to the previous gap if no message is between them. An unknown number plus a known one is unknown. */
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

  /** Takes the first item; undefined = nothing yet; "ended", returned once, = nothing more comes on this connection. */
  take(): PubsubMessage | number | "ended" | undefined {
    if (this.#first === this.#items.length) {
      this.#items.length = this.#first = 0;
      const ended = this.#ended;
      this.#ended = false;
      return ended ? "ended" : undefined;
    }
    const item = this.#items[this.#first]!;
    this.#items[this.#first++] = 0; // drop the reference to the taken item
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
