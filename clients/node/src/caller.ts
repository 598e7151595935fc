import { randomBytes } from "node:crypto";
import { once, setMaxListeners } from "node:events";
import { createConnection } from "node:net";
import { hostname } from "node:os";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Call, Connection, type Held, now, type Opening, type Params } from "./connection.js";
import { BrokenError, ClosedError, ConnectError, CoxswainError, hopeless, ProtocolError, tooLate } from "./errors.js";
import { type EventName, type Events, type HelloResult, idempotent } from "./methods.js";

/** The path at which the sidecar listens by default. */
export const DEFAULT_SOCKET = "/run/coxswain/sidecar.sock";

/** The longest path of a Unix socket on Linux, without the final zero byte. */
const MAX_PATH_BYTES = 107;
const HELLO_TIMEOUT_MS = 5_000;
/** After a connection that lasted so long the pauses start over. One that breaks right after its hello does not reset them, so that the client does not reconnect in a tight loop. */
const STABLE_AFTER_MS = 1_000;
/** The pauses between attempts double from the first to the longest. Each varies at random by up to half of itself. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1_000;
/** How often one call is sent at most: a call whose connection breaks each time may be the cause, and every broken connection loses the leases of other callers. */
const MAX_SENDS = 4;

/** The options of any call. */
export interface CallOptions {
  /** Cancels the call, which then fails with the signal's reason. It may have been carried out although it failed. */
  signal?: AbortSignal;
  /** Milliseconds until it fails with DEADLINE_EXCEEDED, including its wait; absent = the client's deadlineMs plus the call's wait_ms. */
  deadlineMs?: number;
  /**
   * The id (1 to 64 bytes) with which a call is carried out once, also if another process repeats it within 150 s. Absent = a
   * new id for each call that is not idempotent. Empty = no id, which saves Redis a write; then a call that may have been carried out
   * when its connection broke fails, with maybeExecuted.
   */
  requestId?: string;
}

/** A notification of the sidecar. `events.gap` comes from the client itself: it has connected again, and events in between were missed. */
export type SidecarEvent =
  | { [E in EventName]: { readonly method: E; readonly params: Events[E] } }[EventName]
  | { readonly method: "events.gap"; readonly params: { readonly reason: "reconnected" | "refused"; readonly error?: string } };

/** Which sidecar to call, and how the client introduces itself. */
export interface Options {
  /** The path of the socket; absent = $COXSWAIN_SOCKET, else /run/coxswain/sidecar.sock. */
  socket?: string;
  /** The name that is shown for the locks it holds; absent = the name of the program. */
  client?: string;
  version?: string;
  /** Identifies the process among those with the same client; absent = host/pid. */
  instance?: string;
  /** Milliseconds after which a call without its own deadlineMs fails, in addition to its wait_ms; absent = 5000. */
  deadlineMs?: number;
  /** Makes connect try once. Otherwise it waits for the sidecar within deadlineMs, for programs that start together with the sidecar. */
  failFast?: boolean;
  /** Called with every notification that belongs to no subscription, in order. Leases and messages detect their loss without it. */
  onEvent?: (event: SidecarEvent) => void;
}

/** One call, as the code of this package makes it. */
export interface Invocation {
  readonly method: string;
  readonly params: Params;
  readonly options: CallOptions;
  /** The lease that it acquires. */
  readonly lease?: Held;
  /** The subscription that it opens. */
  readonly opens?: Opening;
  /** The only connection to use. If that ends, the call fails with a BrokenError. */
  readonly on?: Connection;
}

/** A subscription of one connection. */
export interface Subscription {
  readonly connection: Connection;
  readonly id: string;
}

/** The pauses between attempts in milliseconds, each about twice the previous one. */
export function* pauses(): Generator<number, never> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) yield pause * (0.5 + Math.random());
}

/** Whether the same call may succeed later. */
export const temporary = (error: unknown): boolean =>
  error instanceof BrokenError || (error instanceof CoxswainError && (error.retryable || error.code === "DEADLINE_EXCEEDED"));

/**
 * Keeps one connection to the sidecar and makes calls on it. Every call ends within its deadline and is carried out at most once, however
 * often the connection breaks: a call that was under way is sent again only if it is idempotent or has a request id.
 */
export class Caller {
  /** The sidecar's answer to the hello of the last connection. */
  server: HelloResult | undefined;
  readonly #socket: string;
  readonly #introduction: Params;
  readonly #deadlineMs: number;
  readonly #onEvent: ((event: SidecarEvent) => void) | undefined;
  readonly #prefix = randomBytes(12).toString("hex");
  #count = 0;
  #up: Connection | undefined;
  #lastError: ConnectError | undefined;
  /** The kinds of events that the program has subscribed to; undefined = none. */
  #kinds: string[] | undefined;
  readonly #waiters = new Set<() => void>();
  readonly #end = new AbortController();
  readonly #kept: Promise<void>;

  constructor(options: Options) {
    this.#socket = options.socket || (process.env["COXSWAIN_SOCKET"] ?? "").replace(/[\r\n]+$/, "") || DEFAULT_SOCKET;
    this.#introduction = {
      client: options.client ?? basename(process.argv[1] ?? "node"), version: options.version,
      instance: options.instance ?? `${hostname()}/${process.pid}`, errors: "map",
    };
    this.#deadlineMs = options.deadlineMs ?? 5_000;
    this.#onEvent = options.onEvent;
    this.#kept = this.#keep();
  }

  /** Waits for the first connection. */
  async start(failFast: boolean): Promise<void> {
    try {
      await this.#pick(now() + this.#deadlineMs, undefined, (error) => failFast || hopeless(error.cause));
    } catch (error) {
      await this.close(); // close first; the caller gets the reason why the sidecar was not reached
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#up?.fail(new ClosedError());
    this.#wake();
    await this.#kept;
  }

  get closed(): boolean {
    return this.#end.signal.aborted;
  }

  /** The connection that is up, if there is one. */
  live(): Connection | undefined {
    return this.#up;
  }

  /** Makes a call, on several connections if they break. */
  async invoke(v: Invocation): Promise<Params> {
    const { signal, requestId } = v.options;
    signal?.throwIfAborted();
    if (signal) setMaxListeners(0, signal); // each call in flight is a listener, and thousands of them are no leak
    const safe = idempotent.has(v.method);
    const id = v.params["_request_id"] ?? requestId ?? (safe ? "" : `${this.#prefix}-${(++this.#count).toString(36)}`);
    const waitMs = Number(v.params["wait_ms"] ?? 0);
    const call: Call = {
      method: v.method,
      params: id === "" ? v.params : { ...v.params, _request_id: id },
      ownDeadline: v.params["_deadline_ms"] !== undefined,
      waits: waitMs > 0,
      deadline: now() + (v.options.deadlineMs ?? this.#deadlineMs + waitMs),
      signal, lease: v.lease, opens: v.opens,
    };
    for (let sends = 0; ; ) {
      const connection = v.on ?? (await this.#pick(call.deadline, signal));
      try {
        return (await connection.roundTrip(call)) as Params;
      } catch (error) {
        if (!(error instanceof BrokenError)) throw error;
        if (this.closed) throw new ClosedError();
        if (error.sent) sends++;
        if (error.sent && !safe && id === "") {
          throw new CoxswainError("UNAVAILABLE", `maybe executed: ${error.message}`, { details: { maybe_executed: true }, cause: error });
        }
        if (v.on) throw error;
        if (sends === MAX_SENDS) throw new CoxswainError("UNAVAILABLE", `${error.message}, ${sends} times`, { details: { maybe_executed: true }, cause: error });
        // The deadline may have passed, or the signal may be aborted, while the call was sent.
        if (now() >= call.deadline) throw tooLate();
        signal?.throwIfAborted();
      }
    }
  }

  /** Subscribes on the connection that is up, or on the next one. */
  async open(opens: Opening, signal: AbortSignal | undefined): Promise<Subscription> {
    const deadline = now() + this.#deadlineMs;
    for (;;) {
      const connection = await this.#pick(deadline, signal);
      try {
        const options = { signal, deadlineMs: Math.max(deadline - now(), 1) };
        const r = await this.invoke({ method: opens.subscribe, params: opens.params, options, opens, on: connection });
        return { connection, id: String(r["subscription"]) };
      } catch (error) {
        if (!(error instanceof BrokenError)) throw error; // a subscription that was opened ended with its connection
      }
    }
  }

  /** Repeats open until it succeeds, for a subscription whose connection has ended. It throws errors that another try cannot change. */
  async openAgain(opens: Opening, signal: AbortSignal | undefined): Promise<Subscription> {
    for (const pause of pauses()) {
      try {
        return await this.open(opens, signal);
      } catch (error) {
        if (signal?.aborted || !temporary(error)) throw error;
      }
      await this.pause(pause, signal);
    }
    throw new Error("unreachable: pauses do not end");
  }

  /** Unsubscribes. Notifications that were sent before may still arrive. */
  async unsubscribe(opens: Opening, s: Subscription): Promise<void> {
    try {
      await this.invoke({ method: opens.unsubscribe, params: { subscription: s.id }, options: { deadlineMs: 2_000 }, on: s.connection });
    } catch {
      // The subscription ends with the connection.
    }
  }

  /** Waits, until the signal is aborted or the client is closed at the latest. */
  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    const ends = signal ? AbortSignal.any([signal, this.#end.signal]) : this.#end.signal;
    await sleep(ms, undefined, { signal: ends }).catch(() => undefined);
    signal?.throwIfAborted();
  }

  /** Subscribes onEvent to events of these kinds, or all if there are none; undefined unsubscribes. */
  async follow(kinds: string[] | undefined): Promise<void> {
    if (!this.#onEvent) throw new CoxswainError("FAILED_PRECONDITION", "there is no onEvent to receive the events: give connect one");
    const before = this.#kinds;
    this.#kinds = kinds; // a connection that is made meanwhile subscribes to them itself
    const [method, params] = kinds ? ["events.subscribe", { kinds }] : ["events.unsubscribe", {}];
    try {
      await this.invoke({ method, params, options: {} });
    } catch (error) {
      this.#kinds = before;
      throw error;
    }
  }

  /** Returns the connection that is up, or waits for one until the deadline. */
  async #pick(deadline: number, signal: AbortSignal | undefined, giveUp?: (last: ConnectError) => boolean): Promise<Connection> {
    while (!this.#up) {
      if (this.closed) throw new ClosedError();
      if (this.#lastError && giveUp?.(this.#lastError)) throw this.#lastError;
      if (now() >= deadline) throw this.#lastError ?? new ConnectError(this.#socket, new Error("no answer yet"));
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", done);
          this.#waiters.delete(done);
          resolve();
        };
        const timer = setTimeout(done, deadline - now());
        signal?.addEventListener("abort", done);
        this.#waiters.add(done);
      });
      signal?.throwIfAborted();
    }
    return this.#up;
  }

  #wake(): void {
    for (const done of [...this.#waiters]) done();
  }

  /** Connects, and connects again when the connection breaks, until close. */
  async #keep(): Promise<void> {
    let pause = pauses();
    while (!this.closed) {
      const began = now();
      try {
        await this.#live();
        if (now() - began >= STABLE_AFTER_MS) pause = pauses();
      } catch (cause) {
        this.#lastError = new ConnectError(this.#socket, cause instanceof BrokenError ? cause.cause : cause);
        this.#wake();
      }
      if (!this.closed) await this.pause(pause.next().value);
    }
  }

  /** Makes a connection, introduces the client on it, and returns when it has ended. */
  async #live(): Promise<void> {
    // Node truncates a longer path, and would connect to another socket.
    if (Buffer.byteLength(this.#socket) > MAX_PATH_BYTES) throw Object.assign(new Error("the path is too long"), { code: "ENAMETOOLONG" });
    const socket = createConnection({ path: this.#socket });
    try {
      await once(socket, "connect", { signal: this.#end.signal });
    } catch (error) {
      socket.destroy();
      throw error;
    }
    let ended = (): void => {};
    const end = new Promise<void>((resolve) => (ended = resolve));
    const connection = new Connection(socket, {
      event: (method, params) => this.#emit({ method, params } as SidecarEvent),
      ended: () => {
        if (this.#up === connection) this.#up = undefined;
        ended();
      },
    });
    try {
      await this.#hello(connection);
      if (this.closed) throw new ClosedError();
      if (connection.error) throw connection.error;
      this.#up = connection;
      this.#wake();
    } catch (error) {
      connection.fail(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
    await end;
  }

  async #hello(connection: Connection): Promise<void> {
    const first = (method: string, params: Params): Promise<Params> =>
      connection.roundTrip({
        method, params, ownDeadline: false, waits: false, deadline: now() + HELLO_TIMEOUT_MS, signal: this.#end.signal, lease: undefined, opens: undefined,
      }) as Promise<Params>;
    const server = (await first("session.hello", this.#introduction)) as Params & HelloResult;
    if (server.protocol !== 1) {
      throw new ProtocolError(`server ${server.server} ${server.version} speaks protocol ${server.protocol}, and this client speaks 1`);
    }
    connection.limit(server.limits);
    this.server = server;
    if (!this.#kinds) return;
    this.#emit({ method: "events.gap", params: { reason: "reconnected" } });
    try {
      await first("events.subscribe", { kinds: this.#kinds });
    } catch (error) {
      if (!(error instanceof CoxswainError)) throw error;
      this.#emit({ method: "events.gap", params: { reason: "refused", error: error.message } });
    }
  }

  /** Calls onEvent after the code that runs now, so that an exception of onEvent does not end the connection. */
  #emit(event: SidecarEvent): void {
    const onEvent = this.#onEvent;
    if (onEvent) queueMicrotask(() => onEvent(event));
  }
}
