import { Caller, type CallOptions, type Options } from "./caller.js";
import type { Held, Params } from "./connection.js";
import { LimitedError } from "./errors.js";
import { Entry, type Kind, type Lease, Lock, locks, Member, type Outcome, type Owner, Permit, permits, pools, queues, Refusal, Reservation, reservations, Semaphore, semaphores } from "./lease.js";
import { type HelloResult, type MethodName, methodNames, type Methods } from "./methods.js";
import { Channels, type PubsubOptions } from "./pubsub.js";
import { Stream, type StreamOptions } from "./stream.js";

/** The W3C trace context of the caller; params of any method may have it. */
export interface Metadata {
  _traceparent?: string;
  _tracestate?: string;
}

export type ParamsOf<M extends MethodName> = Methods[M]["params"] & Metadata;
export type ResultOf<M extends MethodName> = Methods[M]["result"];

/** Params of a method, optional if none of them is required. */
type Arguments<P> = Partial<P> extends P ? [params?: P, options?: CallOptions] : [params: P, options?: CallOptions];

/** The methods of a noun, such as c.ratelimit.acquire. */
export type Noun<N extends string> = {
  readonly [M in MethodName as M extends `${N}.${infer V}` ? V : never]: (...args: Arguments<ParamsOf<M>>) => Promise<ResultOf<M>>;
};

type LockParams = Omit<ParamsOf<"lock.acquire">, "name" | "token">;
type SemaphoreParams = Omit<ParamsOf<"semaphore.acquire">, "name" | "token">;
type PoolParams = Omit<ParamsOf<"pool.acquire">, "pool">;
type PermitParams = Omit<ParamsOf<"permit.acquire">, "pool">;
type QueueParams = Omit<ParamsOf<"queue.dequeue">, "queue">;
type SeenParams = Omit<ParamsOf<"seen.reserve">, "set" | "key">;
type LimitParams = Omit<ParamsOf<"ratelimit.acquire">, "rule" | "key">;

/** The options of withPool and withPermit. */
export interface OutcomeOptions extends CallOptions {
  /** Returns the outcome for an error that the function threw; absent = cancelled if the signal is aborted, else fail. */
  outcomeOf?: (error: unknown) => Outcome;
}

/** Calls one sidecar over one connection. It connects again whenever the connection breaks. */
export class Client implements AsyncDisposable {
  readonly #caller: Caller;

  readonly breaker: Noun<"breaker"> = this.#noun("breaker");
  readonly events: Noun<"events"> = this.#noun("events");
  readonly health: Noun<"health"> = this.#noun("health");
  readonly inspect: Noun<"inspect"> = this.#noun("inspect");
  readonly ratelimit: Noun<"ratelimit"> = this.#noun("ratelimit");
  readonly rpc: Noun<"rpc"> = this.#noun("rpc");
  readonly session: Noun<"session"> = this.#noun("session");

  /** Acquires a lock, at once or in line within wait_ms. A refusal is a BusyError with the holder. */
  readonly lock = this.#noun("lock", (name: string, params: LockParams = {}, options: CallOptions = {}) =>
    this.#acquire(Lock, locks, name, { name }, params, options));

  /** Acquires permits of a semaphore, which has `limit` of them. */
  readonly semaphore = this.#noun("semaphore", (name: string, params: SemaphoreParams, options: CallOptions = {}) =>
    this.#acquire(Semaphore, semaphores, name, { name }, params, options));

  /** Acquires the least recently used free member of a pool. */
  readonly pool = this.#noun("pool", (pool: string, params: PoolParams = {}, options: CallOptions = {}) =>
    this.#acquire(Member, pools, pool, { pool }, params, options));

  /** Acquires a free member of a pool whose breaker lets it pass and whose bucket has enough tokens. */
  readonly permit = this.#noun("permit", (pool: string, params: PermitParams = {}, options: CallOptions = {}) =>
    this.#acquire(Permit, permits, pool, { pool }, params, options));

  /** Takes the first entry of a queue. It must be acknowledged within lease_ms, or with `bind: "session"` while the connection is open. */
  readonly queue = this.#noun("queue", (queue: string, params: QueueParams = {}, options: CallOptions = {}) =>
    this.#acquire(Entry, queues, queue, { queue }, params, options));

  /** Reserves a key of a set, whose work is to be done once. A refusal is a BusyError whose reason is reserved or done. */
  readonly seen = this.#noun("seen", (set: string, key: string, params: SeenParams = {}, options: CallOptions = {}) =>
    this.#acquire(Reservation, reservations, `${set}:${key}`, { set, key }, params, options));

  /** The messages of a group of a stream. */
  readonly stream = this.#noun("stream", (stream: string, options: StreamOptions) => new Stream(this.#caller, stream, options));

  /** The messages that are published to channels from now on. */
  readonly pubsub = this.#noun("pubsub", (channel: string | string[], options: PubsubOptions = {}) => new Channels(this.#caller, channel, options));

  private constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Connects to the sidecar, and waits for it within the deadline. It fails at once if waiting cannot help, for example
   * if this user may not open the socket.
   */
  static async connect(options: Options = {}): Promise<Client> {
    const caller = new Caller(options);
    await caller.start(options.failFast === true);
    return new Client(caller);
  }

  /** The sidecar's answer to the hello of the last connection. */
  get server(): HelloResult {
    return this.#caller.server!;
  }

  /** Closes the connection, so that the sidecar gives back its leases. Calls in flight fail with a ClosedError. */
  close(): Promise<void> {
    return this.#caller.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Calls a method by its name: one of the contract, or one that a later version of the sidecar has. */
  call<M extends MethodName>(method: M, ...args: Arguments<ParamsOf<M>>): Promise<ResultOf<M>>;
  call(method: string, params?: Params, options?: CallOptions): Promise<Params>;
  call(method: string, params: Params = {}, options: CallOptions = {}): Promise<Params> {
    return this.#caller.invoke({ method, params, options });
  }

  /** Takes from a limit, within wait_ms if that is given. A refusal is a LimitedError, which has when to try again. */
  async limit(rule: string, key: string, params: LimitParams = {}, options: CallOptions = {}): Promise<ResultOf<"ratelimit.acquire">> {
    const all = { ...params, rule, key };
    const r = (await this.#caller.invoke({ method: "ratelimit.acquire", params: all, options, lease: unclaimed })) as Params & ResultOf<"ratelimit.acquire">;
    if (!r.allowed) throw new LimitedError(rule, key, r.denied_by, r.retry_after_ms);
    return r;
  }

  /** Takes from a limit, runs a function, and gives back the permit that the grant holds under a rule with max_concurrent. */
  async withLimit<T>(rule: string, key: string, fn: () => T | Promise<T>, params: LimitParams = {}, options: CallOptions = {}): Promise<T> {
    const r = await this.limit(rule, key, params, options);
    try {
      return await fn();
    } finally {
      // A failure is ignored: the permit ends with the session or its TTL, and the function has done its work.
      if (r.held && r.grant !== undefined) await this.ratelimit.done({ grant: r.grant }).catch(() => undefined);
    }
  }

  /** Returns a function that calls fn under a limit; key is the key of all calls, or a function of their arguments that returns it. */
  limited<A extends unknown[], T>(
    rule: string, key: string | ((...args: A) => string), fn: (...args: A) => T | Promise<T>, params: LimitParams = {},
  ): (...args: A) => Promise<T> {
    return (...args) => this.withLimit(rule, typeof key === "string" ? key : key(...args), () => fn(...args), params);
  }

  /**
   * Acquires a lock, runs a function and releases the lock. Watch lk.signal, which is aborted when the lock is lost. It throws what the
   * function throws, or a LostError if the lock was lost before the end.
   */
  async withLock<T>(name: string, fn: (lk: Lock) => T | Promise<T>, params: LockParams = {}, options: CallOptions = {}): Promise<T> {
    return await withLease(await this.lock(name, params, options), fn, (lk) => lk[Symbol.asyncDispose]());
  }

  /** Like withLock, for permits of a semaphore. */
  async withSemaphore<T>(name: string, fn: (s: Semaphore) => T | Promise<T>, params: SemaphoreParams, options: CallOptions = {}): Promise<T> {
    return await withLease(await this.semaphore(name, params, options), fn, (s) => s[Symbol.asyncDispose]());
  }

  /** Acquires a permit, runs a function and reports the outcome, unless the function has: ok, or fail if it throws. */
  async withPermit<T>(pool: string, fn: (p: Permit) => T | Promise<T>, params: PermitParams = {}, options: OutcomeOptions = {}): Promise<T> {
    return await withLease(await this.permit(pool, params, options), fn, reporting(options));
  }

  /** Like withPermit, for a pool without limits and breakers. */
  async withPool<T>(pool: string, fn: (m: Member) => T | Promise<T>, params: PoolParams = {}, options: OutcomeOptions = {}): Promise<T> {
    return await withLease(await this.pool(pool, params, options), fn, reporting(options));
  }

  /** Takes the first entry of a queue and runs a function while it is held. If the function returns, the entry is acknowledged; if it throws, put back at the head. */
  async withEntry<T>(queue: string, fn: (e: Entry) => T | Promise<T>, params: QueueParams = {}, options: CallOptions = {}): Promise<T> {
    const e = await this.queue(queue, { bind: "session", ...params }, options);
    return await withLease(e, fn, (e, failed) => (failed ? e.release() : e.ack()));
  }

  /** Runs a function unless the key is done or reserved, which is a BusyError. If the function returns, the key is committed as done. */
  async once<T>(set: string, key: string, fn: (r: Reservation) => T | Promise<T>, params: SeenParams & { keep_ms?: number } = {}, options: CallOptions = {}): Promise<T> {
    const { keep_ms, ...reserve } = params;
    const r = await this.seen(set, key, reserve, options);
    return await withLease(r, fn, (r, failed) => (failed ? r.release() : r.commit({ keep_ms })));
  }

  /**
   * Subscribes onEvent to events of the given kinds, or all; they replace the kinds of an earlier call. After a reconnection the
   * client subscribes again, and onEvent gets `events.gap`.
   */
  follow(...kinds: string[]): Promise<void> {
    return this.#caller.follow(kinds);
  }

  /** Ends the subscription of follow. */
  unfollow(): Promise<void> {
    return this.#caller.follow(undefined);
  }

  /** Makes the methods of a noun, as properties of a function if the noun can be called itself. */
  #noun<N extends string>(noun: N): Noun<N>;
  #noun<N extends string, F extends object>(noun: N, itself: F): F & Noun<N>;
  #noun(noun: string, itself: object = {}): object {
    for (const method of methodNames) {
      const [of, verb] = method.split(".") as [string, string];
      if (of !== noun) continue;
      const value = (params: Params = {}, options: CallOptions = {}): Promise<Params> => this.#caller.invoke({ method, params, options });
      Object.defineProperty(itself, verb, { value, enumerable: true });
    }
    return itself;
  }

  async #acquire<L extends Lease>(
    make: new (owner: Owner, kind: Kind, name: string, naming: Params, params: Params) => L,
    kind: Kind, name: string, naming: Params, params: Params, options: CallOptions,
  ): Promise<L> {
    for (;;) {
      const lease = new make(this.#caller, kind, name, naming, params);
      try {
        await lease.acquire({ ...params, ...naming }, options);
        return lease;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (!error.stale) throw error.busy;
      }
    }
  }
}

/** Gives back the grant of a limit that comes after its caller has gone. While it is used, the sidecar alone watches its permit. */
const unclaimed: Held = {
  ofSession: false, ownToken: undefined, bind: () => undefined, lose: () => undefined,
  grantedToken: (result) => result["grant"] as string | undefined,
  releaseFrame: (grant) => ["ratelimit.refund", { grant }],
};

/** Runs a function while a lease is held, and then ends the lease, with the function's error if it threw. */
async function withLease<L extends Lease, T>(lease: L, fn: (lease: L) => T | Promise<T>, end: (lease: L, failed?: { error: unknown }) => Promise<void>): Promise<T> {
  let result: T;
  try {
    result = await fn(lease);
  } catch (error) {
    await end(lease, { error }).catch(() => undefined); // the lease ends with its session or its TTL at the latest
    throw error;
  }
  await end(lease);
  return result;
}

/** Returns the end of withPool and withPermit, which reports the outcome of the function. */
function reporting(options: OutcomeOptions): (m: Member, failed?: { error: unknown }) => Promise<void> {
  return (m, failed) => {
    if (!failed) return m.reportEnd({ outcome: "ok" });
    return m.reportEnd(options.outcomeOf?.(failed.error) ?? { outcome: options.signal?.aborted ? "cancelled" : "fail" });
  };
}
