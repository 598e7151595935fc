import type { Socket } from "node:net";
import { decodeMultiStream, Encoder } from "@msgpack/msgpack";
import { BrokenError, CoxswainError, errorOf, tooLate } from "./errors.js";
import type { Limits } from "./methods.js";

const REQUEST = 0;
const RESPONSE = 1;
const NOTIFICATION = 2;

/** How many bytes may wait to be sent while the sidecar does not read. */
const MAX_QUEUE_BYTES = 8 << 20;
/** The connection is closed when the sidecar has read nothing for so long. */
const WRITE_TIMEOUT_MS = 10_000;
/** The most bytes of notifications that are kept until a call that subscribes is answered. */
const MAX_EARLY_BYTES = 8 << 20;
const UNSUBSCRIBE_TIMEOUT_MS = 10_000;
/** The longest time of setTimeout. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const encoder = new Encoder({ ignoreUndefined: true });

/** The monotonic clock of deadlines, in milliseconds. */
export const now = (): number => performance.now();

export type Params = Record<string, unknown>;

/** A lease that a call may acquire. The connection calls it before the caller gets the result. */
export interface Held {
  /** Called when the call is sent. The validity of the grant counts from here. */
  bind(connection: Connection): void;
  /** Returns the token in the result of the acquisition; undefined = it was refused. */
  grantedToken(result: Params): string | undefined;
  /** Whether it is bound to the session, so that the end of the connection or a notification ends it. */
  readonly ofSession: boolean;
  /** The token, if the client makes it. */
  readonly ownToken: string | undefined;
  lose(reason: string): void;
  /** Returns the notification that gives an unused grant back. */
  releaseFrame(token: string): [method: string, params: Params];
}

/** Receives the notifications of one subscription. It must not throw. */
export interface Subscriber {
  receive(method: string, params: Params): void;
  /** Called once, when the connection has ended. */
  ended(why: Error): void;
  /** Called for every lost lease, which may be a message of this subscription. */
  lost?(params: Params): void;
}

/** How to subscribe and unsubscribe. */
export interface Opening {
  readonly subscribe: "pubsub.subscribe" | "stream.subscribe";
  readonly unsubscribe: "pubsub.unsubscribe" | "stream.unsubscribe";
  readonly params: Params;
  readonly to: Subscriber;
  /** Makes the notification that gives back a message that no caller takes. */
  readonly refusal?: (message: Params) => [method: string, params: Params];
}

/** A request. When it is sent again, on another connection, it has the same params. */
export interface Call {
  readonly method: string;
  /** With the metadata, except for the deadline. */
  readonly params: Params;
  /** Whether params has a deadline of the caller. */
  readonly ownDeadline: boolean;
  /** Whether it has wait_ms: the sidecar does not count it as in flight. */
  readonly waits: boolean;
  /** By now(). */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
  readonly lease: Held | undefined;
  readonly opens: Opening | undefined;
}

/** A call that was sent, or waits to be sent. */
interface Flight {
  readonly call: Call;
  /** The id of its request; 0 = not sent. */
  id: number;
  readonly end: (error: Error | undefined, result?: unknown) => void;
  /** Whether the caller has gone: a grant of the reply is given back. */
  gone: boolean;
}

export interface Hooks {
  /** Called for every notification that belongs to no subscription. It must not throw. */
  event(method: string, params: Params): void;
  /** Called once, after the connection's leases are lost and before its calls end. */
  ended(why: Error): void;
}

/** One connection, which is one session of the sidecar. */
export class Connection {
  /** Why it has ended. */
  error: Error | undefined;
  readonly #socket: Socket;
  readonly #hooks: Hooks;
  #maxFrame = Infinity;
  #maxRunning = Infinity;
  #running = 0;
  #lastId = 0;
  readonly #flights = new Map<number, Flight>();
  readonly #queue = new Set<Flight>();
  readonly #held = new Map<string, Held>();
  readonly #subscribers = new Map<string, Subscriber>();
  /** Counts the calls that subscribe and have no answer yet. */
  #opening = 0;
  /** Notifications of unknown subscriptions: they may come before the answer that has the subscription's id. */
  #early: [string, string, Params][] = [];
  #earlyBytes = 0;
  #out: Uint8Array[] = [];
  #unwritten = 0;
  #stalled: NodeJS.Timeout | undefined;

  constructor(socket: Socket, hooks: Hooks) {
    this.#socket = socket;
    this.#hooks = hooks;
    void this.#read();
  }

  /** Sets the limits of the sidecar's answer to the hello. */
  limit(limits: Limits): void {
    this.#maxFrame = limits.max_frame_bytes;
    this.#maxRunning = Math.max(limits.max_inflight, 1);
  }

  /** Sends the call and waits for its reply, until its deadline or its signal. */
  roundTrip(call: Call): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.error) return reject(new BrokenError(this.error, false));
      const aborted = (): void => this.#abandon(flight, call.signal!.reason);
      const timer = setTimeout(() => this.#abandon(flight, tooLate()), Math.min(Math.max(call.deadline - now(), 0), MAX_TIMER_MS));
      const flight: Flight = {
        call,
        id: 0,
        gone: false,
        end: (error, result) => {
          clearTimeout(timer);
          call.signal?.removeEventListener("abort", aborted);
          if (error === undefined) resolve(result);
          else reject(error);
        },
      };
      call.signal?.addEventListener("abort", aborted, { once: true });
      // The sidecar would answer OVERLOADED.
      if (!call.waits && this.#running >= this.#maxRunning) this.#queue.add(flight);
      else this.#send(flight);
    });
  }

  /** Sends a notification, which has no reply. */
  notify(method: string, params: Params): void {
    if (!this.error) this.#write(encoder.encode([NOTIFICATION, method, [params]]));
  }

  /** Ends the connection: its calls end with a BrokenError, and its leases are lost. */
  fail(why: Error): void {
    if (this.error) return;
    this.error = why;
    clearTimeout(this.#stalled);
    this.#socket.destroy();
    // Leases before calls: an acquisition that is repeated binds its lease to the next connection as soon as its call here ends.
    for (const held of this.#held.values()) held.lose(`the connection ended: ${why.message}`);
    for (const to of this.#subscribers.values()) to.ended(why);
    this.#hooks.ended(why);
    for (const flight of this.#flights.values()) if (!flight.gone) flight.end(new BrokenError(why, true));
    for (const flight of this.#queue) flight.end(new BrokenError(why, false));
    for (const left of [this.#held, this.#subscribers, this.#flights, this.#queue]) left.clear();
    this.#out = [];
  }

  /** Stops watching a lease. */
  forget(token: string): void {
    this.#held.delete(token);
  }

  /** Stops passing on notifications of a subscription. */
  detach(subscription: string): void {
    this.#subscribers.delete(subscription);
  }

  #send(flight: Flight): void {
    const { call } = flight;
    if (this.#socket.writableLength > MAX_QUEUE_BYTES) {
      return flight.end(new CoxswainError("OVERLOADED", "the sidecar does not read its socket, and 8 MiB wait for it"));
    }
    const id = this.#id();
    // Rounded up: the sidecar then may give up slightly late, but 0 would mean no deadline.
    const left = Math.max(Math.ceil(call.deadline - now()), 1);
    let frame: Uint8Array;
    try {
      frame = requestFrame(id, call.method, call.ownDeadline ? call.params : { ...call.params, _deadline_ms: left });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      return flight.end(new CoxswainError("INVALID_ARGUMENT", `the params cannot be written as MessagePack: ${why}`, { cause }));
    }
    if (frame.length > this.#maxFrame) {
      // The sidecar would close the connection, which ends all other calls on it.
      return flight.end(new CoxswainError("INVALID_ARGUMENT",
        `the call takes ${frame.length} bytes and the sidecar takes ${this.#maxFrame}: send less, or raise limits.max_frame_bytes`));
    }
    flight.id = id;
    this.#flights.set(id, flight);
    if (!call.waits) this.#running++;
    if (call.opens) this.#opening++;
    if (call.lease) {
      call.lease.bind(this);
      if (call.lease.ofSession && call.lease.ownToken !== undefined) this.#held.set(call.lease.ownToken, call.lease);
    }
    this.#write(frame);
  }

  #id(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0;
    while (this.#flights.has(this.#lastId));
    return this.#lastId;
  }

  /** Ends a call whose caller stops waiting, and asks the sidecar to cancel it. */
  #abandon(flight: Flight, why: Error): void {
    if (!this.#queue.delete(flight) && this.#flights.get(flight.id) === flight) {
      const { call } = flight;
      this.#write(cancelFrame(flight.id));
      flight.gone = true;
      if (!call.waits) this.#running--;
      if (call.lease?.ownToken !== undefined) this.#held.delete(call.lease.ownToken);
      // A grant or subscription may be on its way, and is given back when it arrives.
      if (!call.lease && !call.opens) this.#flights.delete(flight.id);
      this.#admit();
    }
    flight.end(why);
  }

  /** Sends the calls that the sidecar can run now. */
  #admit(): void {
    for (const flight of this.#queue) {
      if (this.#running >= this.#maxRunning) return;
      this.#queue.delete(flight);
      this.#send(flight);
    }
  }

  /** Adds a frame to those that leave in one write, in the next turn of the loop. */
  #write(frame: Uint8Array): void {
    if (this.#out.push(frame) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (this.error || this.#out.length === 0) return;
    const frames = this.#out;
    this.#out = [];
    this.#unwritten++;
    this.#stalled ??= setTimeout(() => this.fail(new Error(`the sidecar has read nothing for ${WRITE_TIMEOUT_MS} ms`)), WRITE_TIMEOUT_MS).unref();
    this.#socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames), () => {
      if (--this.#unwritten > 0) return void this.#stalled?.refresh();
      clearTimeout(this.#stalled);
      this.#stalled = undefined;
    });
  }

  async #read(): Promise<void> {
    // A write that fails only emits this event; it must end the reading too.
    this.#socket.on("error", (why) => this.fail(why));
    try {
      for await (const frame of decodeMultiStream(plain(this.#socket))) this.#receive(frame);
      this.fail(new Error("the sidecar closed it"));
    } catch (why) {
      this.fail(why instanceof Error ? why : new Error(String(why)));
    }
  }

  #receive(frame: unknown): void {
    if (!Array.isArray(frame)) throw new Error("the sidecar sent something that is not a frame of the protocol");
    if (frame[0] === RESPONSE && frame.length === 4) return this.#answer(frame[1], frame[2], frame[3]);
    if (frame[0] === NOTIFICATION && frame.length === 3) return this.#notified(String(frame[1]), paramsOf(frame[2]));
    throw new Error(`the sidecar sent a frame of kind ${String(frame[0])} and ${frame.length} elements`);
  }

  #answer(id: number, error: unknown, result: unknown): void {
    const flight = this.#flights.get(id);
    if (!flight) return; // it was cancelled
    this.#flights.delete(id);
    const { call } = flight;
    if (!flight.gone && !call.waits) this.#running--;
    if (call.lease && error === null) this.#granted(flight, call.lease, result as Params);
    if (call.opens) this.#opened(flight, call.opens, error === null ? (result as Params) : {});
    if (!flight.gone) flight.end(error === null ? undefined : errorOf(error), result);
    this.#admit();
  }

  /** Records the token of a grant before the next frame is read, which may report its loss. */
  #granted(flight: Flight, lease: Held, result: Params): void {
    const token = lease.grantedToken(result);
    if (token === undefined) return;
    if (flight.gone) this.notify(...lease.releaseFrame(token));
    else if (lease.ofSession) this.#held.set(token, lease);
  }

  /** Registers the subscription of a reply, and passes on its notifications that came before the reply. */
  #opened(flight: Flight, opens: Opening, result: Params): void {
    const id = result["subscription"];
    if (typeof id === "string") {
      const to = flight.gone ? this.#refuse(id, opens) : opens.to;
      this.#subscribers.set(id, to);
      for (const [of, method, params] of this.#early) if (of === id) to.receive(method, params);
    }
    if (--this.#opening === 0) [this.#early, this.#earlyBytes] = [[], 0];
  }

  /** Ends a subscription whose caller has gone. The messages that come before the sidecar's answer are given back: otherwise they would stay with this connection. */
  #refuse(id: string, opens: Opening): Subscriber {
    void this.roundTrip({
      method: opens.unsubscribe, params: { subscription: id }, ownDeadline: false, waits: false, deadline: now() + UNSUBSCRIBE_TIMEOUT_MS,
      signal: undefined, lease: undefined, opens: undefined,
    }).catch(() => undefined).finally(() => this.detach(id));
    return { receive: (_, params) => opens.refusal && this.notify(...opens.refusal(params)), ended: () => undefined };
  }

  #notified(method: string, params: Params): void {
    const id = params["subscription"];
    if (typeof id === "string") {
      const to = this.#subscribers.get(id);
      if (to) return to.receive(method, params);
      if (this.#opening > 0) {
        this.#early.push([id, method, params]);
        this.#earlyBytes += 256 + (params["body"] instanceof Uint8Array ? params["body"].length : 0);
        if (this.#earlyBytes > MAX_EARLY_BYTES) throw new Error("the sidecar sent more than 8 MiB of messages for a subscription before the answer that names it");
        return;
      }
    }
    if (method.endsWith(".lost")) {
      const token = String(params["token"]);
      this.#held.get(token)?.lose(String(params["reason"]));
      this.#held.delete(token);
      for (const to of this.#subscribers.values()) to.lost?.(params);
    }
    this.#hooks.event(method, params);
  }
}

/** Reads a socket as Uint8Arrays. Parts of a Buffer are Buffers, whose slice() does not copy, so that a small body would keep all that was read with it. */
async function* plain(socket: Socket): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { buffer, byteOffset, length } of socket as AsyncIterable<Buffer>) yield new Uint8Array(buffer, byteOffset, length);
}

/** The frame of a request. */
export function requestFrame(id: number, method: string, params: Params): Uint8Array {
  return encoder.encode([REQUEST, id, method, [params]]);
}

/** The frame that cancels a call. */
export function cancelFrame(id: number): Uint8Array {
  return encoder.encode([NOTIFICATION, "rpc.cancel", [id]]);
}

/** The params of a notification: one map in a list, or a bare one. */
function paramsOf(params: unknown): Params {
  const map: unknown = Array.isArray(params) ? params[0] : params;
  return map !== null && typeof map === "object" ? (map as Params) : {};
}
