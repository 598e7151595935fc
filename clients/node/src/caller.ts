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

/** Of a Unix socket on Linux, without the byte that ends it. */
const MAX_PATH_BYTES = 107;
const HELLO_TIMEOUT_MS = 5_000;
/** How long a connection must have lived for the pauses to start over: one that breaks right after its hello is not made again in a tight loop. */
const CALM_MS = 1_000;
/** The pauses between attempts double from the first to the longest. Each varies at random by up to half of itself. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1_000;
/** Bounds how often one call is sent: one whose connection breaks each time may be the cause, and every broken connection loses the leases of others. */
const MAX_SENDS = 4;

/** What any call takes. */
export interface CallOptions {
  /** Cancels the call, which then fails with the signal's reason. It may have been carried out all the same. */
  signal?: AbortSignal;
  /** Milliseconds until it fails with DEADLINE_EXCEEDED, waiting included; absent = those of the client and the call's wait_ms. */
  deadlineMs?: number;
  /**
   * The id (1 to 64 bytes) by which the sidecars carry the call out once, also if another process repeats it within 150 s. Absent = a
   * new one for each call that is not idempotent. Empty = none, which saves Redis a write: a call that may have been carried out
   * when its connection broke then fails, with maybeExecuted.
   */
  requestId?: string;
}

/** A notification of the sidecar. `events.gap` is the client's own: the connection was made again, and what happened in between was missed. */
export type SidecarEvent =
  | { [E in EventName]: { readonly method: E; readonly params: Events[E] } }[EventName]
  | { readonly method: "events.gap"; readonly params: { readonly reason: "reconnected" | "refused"; readonly error?: string } };

/** Which sidecar to call, and how the client introduces itself. */
export interface Options {
  /** The path of the socket; absent = $COXSWAIN_SOCKET, else /run/coxswain/sidecar.sock. */
  socket?: string;
  /** What others see as the holder; absent = the name of the program. */
  client?: string;
  version?: string;
  /** Which one it is; absent = host/pid. */
  instance?: string;
  /** Milliseconds after which a call fails that says nothing else, besides its wait_ms; absent = 5000. */
  deadlineMs?: number;
  /** Connect tries once. Without it, it waits for the sidecar within deadlineMs, for programs that start together with the sidecar. */
  failFast?: boolean;
  /** Hears every notification but those of subscriptions, in order. Leases and messages learn of their loss without it. */
  onEvent?: (event: SidecarEvent) => void;
}

/** One call, for code within this package. */
export interface Invocation {
  readonly method: string;
  readonly params: Params;
  readonly options: CallOptions;
  /** What it acquires. */
  readonly lease?: Held;
  /** What it subscribes to. */
  readonly opens?: Opening;
  /** The only connection to use. If that ends, the call fails with a BrokenError. */
  readonly on?: Connection;
}

/** A subscription of one connection. */
export interface Subscription {
  readonly connection: Connection;
  readonly id: string;
}

/** The pauses between attempts, each twice the one before. */
export function* pauses(): Generator<number, never> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) yield pause * (0.5 + Math.random());
}

/** Whether the sidecar may answer otherwise later. */
export const passing = (error: unknown): boolean =>
  error instanceof BrokenError || (error instanceof CoxswainError && (error.retryable || error.code === "DEADLINE_EXCEEDED"));

/**
 * Keeps one connection to the sidecar and carries out calls on it. Every call ends within its time and is carried out at most once, however
 * often the connection breaks: one that was on its way is sent again only if it is idempotent or has a request id.
 */
export class Caller {
  /** What the sidecar said of itself when the present connection was made. */
  server: HelloResult | undefined;
  readonly #socket: string;
  readonly #introduction: Params;
  readonly #deadlineMs: number;
  readonly #onEvent: ((event: SidecarEvent) => void) | undefined;
  readonly #prefix = randomBytes(12).toString("hex");
  #count = 0;
  #up: Connection | undefined;
  #lastError: ConnectError | undefined;
  /** The kinds of events that the program follows; undefined = none. */
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
      await this.close(); // the reason that it could not be reached says more
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

  /** Carries a call out, on several connections if they break. */
  async invoke(v: Invocation): Promise<Params> {
    const { signal, requestId } = v.options;
    signal?.throwIfAborted();
    if (signal) setMaxListeners(0, signal); // each call in flight is one, and thousands are no leak
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
        // The call may have ended with its connection.
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
        if (!(error instanceof BrokenError)) throw error; // what was subscribed ended with its connection
      }
    }
  }

  /** open until it succeeds, for a subscription whose connection has ended. It throws what says that another try is of no use. */
  async openAgain(opens: Opening, signal: AbortSignal | undefined): Promise<Subscription> {
    for (const pause of pauses()) {
      try {
        return await this.open(opens, signal);
      } catch (error) {
        if (signal?.aborted || !passing(error)) throw error;
      }
      await this.pause(pause, signal);
    }
    throw new Error("unreachable: pauses do not end");
  }

  /** Unsubscribes. What was sent before may still be on its way. */
  async shut(opens: Opening, s: Subscription): Promise<void> {
    try {
      await this.invoke({ method: opens.unsubscribe, params: { subscription: s.id }, options: { deadlineMs: 2_000 }, on: s.connection });
    } catch {
      // It ends with the connection.
    }
  }

  /** Waits, until the signal is aborted or the client is closed at the latest. */
  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    const ends = signal ? AbortSignal.any([signal, this.#end.signal]) : this.#end.signal;
    await sleep(ms, undefined, { signal: ends }).catch(() => undefined);
    signal?.throwIfAborted();
  }

  /** Has onEvent hear of events of these kinds, or all; undefined ends that. */
  async follow(kinds: string[] | undefined): Promise<void> {
    if (!this.#onEvent) throw new CoxswainError("FAILED_PRECONDITION", "nobody would hear of events: give connect an onEvent");
    const before = this.#kinds;
    this.#kinds = kinds; // a connection that is made meanwhile asks for them itself
    const [method, params] = kinds ? ["events.subscribe", { kinds }] : ["events.unsubscribe", {}];
    try {
      await this.invoke({ method, params, options: {} });
    } catch (error) {
      this.#kinds = before;
      throw error;
    }
  }

  /** Returns a connection that is up, and waits for one until the deadline. */
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
        if (now() - began >= CALM_MS) pause = pauses();
      } catch (cause) {
        this.#lastError = new ConnectError(this.#socket, cause instanceof BrokenError ? cause.cause : cause);
        this.#wake();
      }
      if (!this.closed) await this.pause(pause.next().value);
    }
  }

  /** Makes a connection, introduces the client on it, and returns when it has ended. */
  async #live(): Promise<void> {
    // Node cuts a longer one, and would connect to another socket.
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
      event: (method, params) => this.#tell({ method, params } as SidecarEvent),
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
        method, params, ownDeadline: false, waits: false, deadline: now() + HELLO_TIMEOUT_MS, signal: undefined, lease: undefined, opens: undefined,
      }) as Promise<Params>;
    const server = (await first("session.hello", this.#introduction)) as Params & HelloResult;
    if (server.protocol !== 1) {
      throw new ProtocolError(`server ${server.server} ${server.version} has protocol ${server.protocol}, and this client speaks 1`);
    }
    connection.limit(server.limits);
    this.server = server;
    if (!this.#kinds) return;
    this.#tell({ method: "events.gap", params: { reason: "reconnected" } });
    try {
      await first("events.subscribe", { kinds: this.#kinds });
    } catch (error) {
      if (!(error instanceof CoxswainError)) throw error;
      this.#tell({ method: "events.gap", params: { reason: "refused", error: error.message } });
    }
  }

  /** Tells the program of an event, after what runs now: it is the program's own fault if it throws. */
  #tell(event: SidecarEvent): void {
    const hear = this.#onEvent;
    if (hear) queueMicrotask(() => hear(event));
  }
}
