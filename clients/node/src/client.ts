import { Caller, type CallOptions, type Options } from "./caller.js";
import type { Params } from "./connection.js";
import { LimitedError } from "./errors.js";
import { Entry, type Kind, type Lease, Lock, locks, Member, type Outcome, type Owner, Permit, permits, pools, queues, Refusal, Reservation, reservations, Semaphore, semaphores } from "./lease.js";
import { type HelloResult, type MethodName, methodNames, type Methods } from "./methods.js";
import { Channels, type PubsubOptions } from "./pubsub.js";
import { Stream, type StreamOptions } from "./stream.js";

/** The trace context of the caller, as W3C defines it; params of any method may have it. */
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

/** For what a function did with a member of a pool. */
export interface OutcomeOptions extends CallOptions {
  /** The outcome of a function that threw this; absent = cancelled if the signal is aborted, else fail. */
  outcomeOf?: (error: unknown) => Outcome;
}

/** Calls one sidecar over one connection, which is made again whenever it breaks. */
export class Client implements AsyncDisposable {
  readonly #caller: Caller;

  readonly breaker: Noun<"breaker"> = this.#noun("breaker");
  readonly events: Noun<"events"> = this.#noun("events");
  readonly health: Noun<"health"> = this.#noun("health");
  readonly inspect: Noun<"inspect"> = this.#noun("inspect");
  readonly ratelimit: Noun<"ratelimit"> = this.#noun("ratelimit");
  readonly rpc: Noun<"rpc"> = this.#noun("rpc");
  readonly session: Noun<"session"> = this.#noun("session");

  /** Takes a lock, at once or in turn within wait_ms. A refusal is a BusyError that names the holder. */
  readonly lock = this.#noun("lock", (name: string, params: LockParams = {}, options: CallOptions = {}) =>
    this.#acquire(Lock, locks, name, { name }, params, options));

  /** Takes permits of a semaphore, which has `limit` of them. */
  readonly semaphore = this.#noun("semaphore", (name: string, params: SemaphoreParams, options: CallOptions = {}) =>
    this.#acquire(Semaphore, semaphores, name, { name }, params, options));

  /** Takes the least recently used member of a pool that is free. */
  readonly pool = this.#noun("pool", (pool: string, params: PoolParams = {}, options: CallOptions = {}) =>
    this.#acquire(Member, pools, pool, { pool }, params, options));

  /** Takes a member of a pool that is free, whose breaker lets it pass and whose bucket has enough. */
  readonly permit = this.#noun("permit", (pool: string, params: PermitParams = {}, options: CallOptions = {}) =>
    this.#acquire(Permit, permits, pool, { pool }, params, options));

  /** Takes the first entry of a queue. It must be acknowledged within lease_ms, or with `bind: "session"` while the connection lives. */
  readonly queue = this.#noun("queue", (queue: string, params: QueueParams = {}, options: CallOptions = {}) =>
    this.#acquire(Entry, queues, queue, { queue }, params, options));

  /** Reserves a key of a set, whose work is to be done once. A refusal is a BusyError whose reason is reserved or done. */
  readonly seen = this.#noun("seen", (set: string, key: string, params: SeenParams = {}, options: CallOptions = {}) =>
    this.#acquire(Reservation, reservations, `${set}:${key}`, { set, key }, params, options));

  /** The messages of a group of a stream. */
  readonly stream = this.#noun("stream", (stream: string, options: StreamOptions) => new Stream(this.#caller, stream, options));

  /** The messages of channels that are published from now on. */
  readonly pubsub = this.#noun("pubsub", (channel: string | string[], options: PubsubOptions = {}) => new Channels(this.#caller, channel, options));

  private constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Connects to the sidecar, and waits for it within the deadline. It fails at once with what waiting cannot change, for example
   * if this user may not open the socket.
   */
  static async connect(options: Options = {}): Promise<Client> {
    const caller = new Caller(options);
    await caller.start(options.failFast === true);
    return new Client(caller);
  }

  /** What the sidecar said of itself when the present connection was made. */
  get server(): HelloResult {
    return this.#caller.server!;
  }

  /** Closes the connection, so that the sidecar releases what it holds. Calls in flight fail with a ClosedError. */
  close(): Promise<void> {
    return this.#caller.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Calls a method by its name: one of the contract, or one of a later sidecar. */
  call<M extends MethodName>(method: M, ...args: Arguments<ParamsOf<M>>): Promise<ResultOf<M>>;
  call(method: string, params?: Params, options?: CallOptions): Promise<Params>;
  call(method: string, params: Params = {}, options: CallOptions = {}): Promise<Params> {
    return this.#caller.invoke({ method, params, options });
  }

  /** Takes from a limit, within wait_ms if that is given. A refusal is a LimitedError, which says when to come again. */
  async limit(rule: string, key: string, params: LimitParams = {}, options: CallOptions = {}): Promise<ResultOf<"ratelimit.acquire">> {
    const r = await this.ratelimit.acquire({ ...params, rule, key }, options);
    if (!r.allowed) throw new LimitedError(rule, key, r.denied_by, r.retry_after_ms);
    return r;
  }

  /** Takes from a limit, runs a function, and gives the place back that the grant has under a rule with max_concurrent. */
  async withLimit<T>(rule: string, key: string, fn: () => T | Promise<T>, params: LimitParams = {}, options: CallOptions = {}): Promise<T> {
    const r = await this.limit(rule, key, params, options);
    try {
      return await fn();
    } finally {
      // The place ends with the session or its TTL if this fails, and the function has done its work.
      if (r.held && r.grant !== undefined) await this.ratelimit.done({ grant: r.grant }).catch(() => undefined);
    }
  }

  /** Makes a function of one that goes by a limit; key is that of all its calls, or made of their arguments. */
  limited<A extends unknown[], T>(
    rule: string, key: string | ((...args: A) => string), fn: (...args: A) => T | Promise<T>, params: LimitParams = {},
  ): (...args: A) => Promise<T> {
    return (...args) => this.withLimit(rule, typeof key === "string" ? key : key(...args), () => fn(...args), params);
  }

  /**
   * Takes a lock, runs a function and releases the lock. Watch lk.signal, which is aborted when the lock is lost. It throws what the
   * function throws, else a LostError if the lock was not held to the end.
   */
  async withLock<T>(name: string, fn: (lk: Lock) => T | Promise<T>, params: LockParams = {}, options: CallOptions = {}): Promise<T> {
    return await under(await this.lock(name, params, options), fn, (lk) => lk[Symbol.asyncDispose]());
  }

  /** withLock for permits of a semaphore. */
  async withSemaphore<T>(name: string, fn: (s: Semaphore) => T | Promise<T>, params: SemaphoreParams, options: CallOptions = {}): Promise<T> {
    return await under(await this.semaphore(name, params, options), fn, (s) => s[Symbol.asyncDispose]());
  }

  /** Takes a permit, runs a function and reports how that went: ok, or fail if it throws; unless it has reported itself. */
  async withPermit<T>(pool: string, fn: (p: Permit) => T | Promise<T>, params: PermitParams = {}, options: OutcomeOptions = {}): Promise<T> {
    return await under(await this.permit(pool, params, options), fn, concluding(options));
  }

  /** withPermit for a pool without limits and breakers. */
  async withPool<T>(pool: string, fn: (m: Member) => T | Promise<T>, params: PoolParams = {}, options: OutcomeOptions = {}): Promise<T> {
    return await under(await this.pool(pool, params, options), fn, concluding(options));
  }

  /** Takes the first entry of a queue and runs a function, for as long as which the entry is held: acknowledged if it returns, at the head again if it throws. */
  async withEntry<T>(queue: string, fn: (e: Entry) => T | Promise<T>, params: QueueParams = {}, options: CallOptions = {}): Promise<T> {
    const e = await this.queue(queue, { bind: "session", ...params }, options);
    return await under(e, fn, (e, failed) => (failed ? e.release() : e.ack()));
  }

  /** Runs a function unless another has done the work of a key, or does it now, which is a BusyError. If it returns that is recorded. */
  async once<T>(set: string, key: string, fn: (r: Reservation) => T | Promise<T>, params: SeenParams & { keep_ms?: number } = {}, options: CallOptions = {}): Promise<T> {
    const { keep_ms, ...reserve } = params;
    const r = await this.seen(set, key, reserve, options);
    return await under(r, fn, (r, failed) => (failed ? r.release() : r.commit({ keep_ms })));
  }

  /**
   * Has onEvent hear of what happens: events of the given kinds, or all. It replaces the kinds before. When the connection is made
   * again the client asks again, and onEvent is told `events.gap`.
   */
  follow(...kinds: string[]): Promise<void> {
    return this.#caller.follow(kinds);
  }

  /** Ends follow. */
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

/** Runs a function under a lease, and ends that by how the function ended. */
async function under<L extends Lease, T>(lease: L, fn: (lease: L) => T | Promise<T>, end: (lease: L, failed?: { error: unknown }) => Promise<void>): Promise<T> {
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

/** Reports how a function with a member of a pool ended. */
function concluding(options: OutcomeOptions): (m: Member, failed?: { error: unknown }) => Promise<void> {
  return (m, failed) => {
    if (!failed) return m.conclude({ outcome: "ok" });
    return m.conclude(options.outcomeOf?.(failed.error) ?? { outcome: options.signal?.aborted ? "cancelled" : "fail" });
  };
}
