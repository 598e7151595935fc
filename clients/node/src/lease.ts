import { randomBytes } from "node:crypto";
import type { CallOptions, Invocation } from "./caller.js";
import { type Connection, type Held, type Params, now } from "./connection.js";
import { BrokenError, BusyError, CoxswainError, LostError, ReleasedError } from "./errors.js";
import type { Holder, MethodName, Methods } from "./methods.js";

/** The part of the client that a lease uses. */
export interface Owner {
  invoke(v: Invocation): Promise<Params>;
  /** Returns the connection that is up. */
  live(): Connection | undefined;
}

/** Describes the leases of one noun. */
export interface Kind {
  readonly noun: string;
  readonly acquire: MethodName;
  readonly release: MethodName;
  readonly renew?: MethodName;
  /** The key of the token in params and results. */
  readonly token: "token" | "lease";
  /** Whether the client makes the token; otherwise the sidecar does. */
  readonly ownToken?: true;
  /** The key of the TTL in params, and the TTL without it. */
  readonly ttl: "ttl_ms" | "lease_ms";
  readonly defaultTtlMs: number;
  readonly defaultBind: "session" | "ttl";
  /** Whether the caller's request id is sent with an acquisition, so that another process may repeat it. */
  readonly callersId?: true;
  /** Additional params of the release of a grant that was not used. */
  readonly unused?: Params;
}

export const locks: Kind = {
  noun: "lock", acquire: "lock.acquire", release: "lock.release", renew: "lock.renew", token: "token", ownToken: true,
  ttl: "ttl_ms", defaultTtlMs: 30_000, defaultBind: "session",
};
export const semaphores: Kind = {
  noun: "semaphore", acquire: "semaphore.acquire", release: "semaphore.release", renew: "semaphore.renew", token: "token", ownToken: true,
  ttl: "ttl_ms", defaultTtlMs: 30_000, defaultBind: "session",
};
export const pools: Kind = {
  noun: "pool", acquire: "pool.acquire", release: "pool.release", renew: "pool.renew", token: "lease",
  ttl: "lease_ms", defaultTtlMs: 60_000, defaultBind: "session", callersId: true, unused: { outcome: "cancelled" },
};
export const permits: Kind = {
  noun: "permit", acquire: "permit.acquire", release: "permit.report", renew: "permit.renew", token: "lease",
  ttl: "lease_ms", defaultTtlMs: 60_000, defaultBind: "session", callersId: true, unused: { outcome: "cancelled" },
};
export const queues: Kind = {
  noun: "queue", acquire: "queue.dequeue", release: "queue.release", renew: "queue.renew", token: "lease",
  ttl: "lease_ms", defaultTtlMs: 60_000, defaultBind: "ttl",
};
export const reservations: Kind = {
  noun: "seen", acquire: "seen.reserve", release: "seen.release", token: "token",
  ttl: "ttl_ms", defaultTtlMs: 30_000, defaultBind: "session",
};

/** The fields of the results of all acquisitions. */
interface Decision {
  acquired?: boolean;
  found?: boolean;
  reserved?: boolean;
  replayed?: boolean;
  token?: string;
  lease?: string;
  fence?: string;
  ttl_ms?: number;
  waited_ms?: number;
  held_by?: Holder;
  reason?: string;
  denied_by?: string;
  state?: string;
  retry_after_ms?: number;
}

const granted = (d: Decision): boolean => d.acquired === true || d.found === true || d.reserved === true;

/** For how many milliseconds a grant is valid after it was asked for: its TTL, less 1 % for clocks that differ in speed and 2 ms for rounding. */
const validity = (ttl: number): number => ttl - ttl / 100 - 2;

/**
 * Something that is held for a time. It is given back by release, or at the end of the block of an `await using`.
 *
 * Watch signal: work under a lease must end when the lease is lost. A process that was paused may detect the loss too late, so
 * the resource that the lease protects should refuse a fence lower than the highest that it has seen.
 */
export class Lease implements Held, AsyncDisposable {
  readonly ofSession: boolean;
  readonly ownToken: string | undefined;
  /** The secret of the owner. Another client can renew and release the lease with it. */
  token = "";
  /** Rises with every grant, also across failovers and data loss; 0n = this noun has none. */
  fence = 0n;
  #ttl: number;
  /** The TTL that was asked for; that of the grant is shorter if max_hold_ms is. */
  readonly #askedTtl: number;
  readonly #maxHold: number;
  #ends = Infinity;
  #connection: Connection | undefined;
  /** The last instant, by now(), at which it was certainly held. */
  #confirmed = 0;
  #granted = false;
  #loss: LostError | undefined;
  #released = false;
  #releasing: Promise<void> | undefined;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    protected readonly owner: Owner,
    readonly kind: Kind,
    /** The name of what was acquired. */
    readonly name: string,
    /** The params with its name. */
    private readonly naming: Params,
    params: Params,
  ) {
    this.ofSession = (params["bind"] ?? kind.defaultBind) === "session";
    this.ownToken = kind.ownToken ? randomBytes(16).toString("hex") : undefined;
    this.#ttl = this.#askedTtl = Number(params[kind.ttl] ?? kind.defaultTtlMs);
    this.#maxHold = Number(params["max_hold_ms"] ?? 0);
  }

  /** Aborted when the lease ends, with a LostError or a ReleasedError as its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why it was lost; undefined = it was not lost. */
  get lost(): LostError | undefined {
    return this.#loss;
  }

  /** Throws a LostError if the lease is lost. */
  check(): void {
    if (this.#loss) throw this.#loss;
  }

  /** Renews the lease for its TTL from now. Only a lease that is bound to its TTL needs it. If it is no longer held, it is lost, and renew throws a LostError. */
  async renew(options: CallOptions = {}): Promise<void> {
    if (this.#released) throw new ReleasedError();
    this.check();
    if (!this.kind.renew) throw new CoxswainError("FAILED_PRECONDITION", `${this.kind.noun} ${this.name}: it cannot be renewed: bind it to the session, or give it a longer TTL`);
    const sent = now();
    const r = await this.#invoke(this.kind.renew, { [this.kind.ttl]: this.#ttl }, options);
    if (r["renewed"] !== true) throw this.#lose(String(r["reason"]));
    this.#confirm(sent);
  }

  /**
   * Ends the lease. It throws a LostError if the lease was lost before. After any other error it may be called again; the
   * lease ends with its session or its TTL at the latest. After a success it does nothing.
   */
  release(options: CallOptions = {}): Promise<void> {
    return this.endBy(this.kind.release, {}, options);
  }

  /** Releases the lease. It throws a LostError if the lease was lost before; after another failure the lease ends with its session or its TTL. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.settle(() => this.release());
  }

  /** Ends the lease by a function, and ignores failures that do not affect the work done under it. */
  protected async settle(end: () => Promise<void>): Promise<void> {
    try {
      await end();
    } catch (error) {
      if (!(error instanceof CoxswainError) || error instanceof LostError || error.code === "INVALID_ARGUMENT") throw error;
    }
  }

  /** Ends the lease by one of its methods, with additional params. */
  protected async endBy(method: MethodName, more: Params, options: CallOptions): Promise<void> {
    if (this.#released) return;
    this.#releasing ??= this.#end(method, more, options).finally(() => (this.#releasing = undefined));
    await this.#releasing;
  }

  async #end(method: MethodName, more: Params, options: CallOptions): Promise<void> {
    this.#finish(this.#loss ?? new ReleasedError());
    const r = await this.#invoke(method, more, options);
    this.#connection?.forget(this.token);
    this.#released = true;
    this.check();
    if (r["released"] !== true && r["acked"] !== true && r["committed"] !== true) throw this.#lose(String(r["reason"]));
  }

  /**
   * Calls a method for the lease on the session that holds it, which would otherwise report a loss. If that session has ended, any
   * session can release the lease by its token, which frees at once the lease of a killed sidecar.
   */
  async #invoke(method: MethodName, more: Params, options: CallOptions): Promise<Params> {
    const params = { ...this.naming, [this.kind.token]: this.token, ...more };
    const on = this.ofSession && !this.#connection?.error ? this.#connection : undefined;
    try {
      return await this.owner.invoke({ method, params, options, on });
    } catch (error) {
      if (!(error instanceof BrokenError)) throw error;
      return await this.owner.invoke({ method, params, options });
    }
  }

  /** Acquires the lease, and returns the result. It throws a Refusal if it is refused. */
  async acquire(params: Params, options: CallOptions): Promise<Params> {
    const { kind } = this;
    const all = { [kind.ttl]: kind.defaultTtlMs, ...params, ...(this.ownToken === undefined ? {} : { token: this.ownToken }) };
    let result: Decision;
    try {
      result = await this.owner.invoke({ method: kind.acquire, params: all, options: kind.callersId ? options : { ...options, requestId: undefined }, lease: this });
    } catch (error) {
      this.#disown(error);
      throw error;
    }
    if (!granted(result)) {
      if (this.ownToken !== undefined) this.#connection?.forget(this.ownToken);
      throw new Refusal(result.replayed === true && !(kind.callersId && options.requestId !== undefined),
        new BusyError(kind.noun, this.name, result.denied_by ?? result.reason ?? result.state, result.held_by, result.retry_after_ms ?? 0));
    }
    this.token = this.ownToken ?? this.grantedToken(result as Params)!;
    this.fence = BigInt(result.fence ?? 0);
    if (kind === locks || kind === semaphores) this.#ttl = result.ttl_ms ?? this.#ttl;
    // The sidecar asked Redis for the grant only after this wait.
    this.#confirmed += result.waited_ms ?? 0;
    if (this.#maxHold > 0) this.#ends = this.#confirmed + validity(this.#maxHold);
    this.#granted = true;
    if (this.#loss) this.#finish(this.#loss); // lost between the reply and now
    else this.#arm();
    return result as Params;
  }

  /** Gives back a grant that may exist although its call failed. No other code has its token. */
  #disown(error: unknown): void {
    if (this.ownToken === undefined) return; // only the sidecar has the token, and it gives the grant back itself
    this.#connection?.forget(this.ownToken);
    const certain = error instanceof CoxswainError && !error.maybeExecuted && !["DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL"].includes(error.code);
    if (certain || !this.#connection) return; // without a connection it was not sent
    const [method, params] = this.releaseFrame(this.ownToken);
    const live = this.owner.live();
    if (live) live.notify(method, params);
    else void this.owner.invoke({ method, params, options: {} }).catch(() => undefined); // the end of its session does not give back a lease that is bound to its TTL
  }

  releaseFrame(token: string): [string, Params] {
    return [this.kind.release, { ...this.naming, [this.kind.token]: token, ...this.kind.unused }];
  }

  grantedToken(result: Params): string | undefined {
    const d = result as Decision;
    return granted(d) ? d[this.kind.token] : undefined;
  }

  bind(connection: Connection): void {
    this.#connection = connection;
    this.#confirmed = now();
    this.#loss = undefined;
  }

  lose(reason: string): void {
    this.#lose(reason);
  }

  #lose(reason: string): LostError {
    this.#loss ??= new LostError(reason);
    if (this.#granted) this.#finish(this.#loss);
    return this.#loss;
  }

  #finish(why: Error): void {
    clearTimeout(this.#timer);
    if (!this.#controller.signal.aborted) this.#controller.abort(why);
  }

  #confirm(at: number): void {
    if (this.#controller.signal.aborted) return;
    this.#confirmed = at;
    this.#arm();
  }

  /**
   * Sets the time of the next check. A lease that is bound to its TTL ends with its validity, or at max_hold_ms. The sidecar renews a
   * lease that is bound to the session, and reports a loss in time as long as it runs; so the client pings the sidecar every third
   * of the TTL.
   */
  #arm(): void {
    const next = this.ofSession ? this.#confirmed + this.#ttl / 3 : Math.min(this.#confirmed + validity(this.#ttl), this.#ends);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), Math.max(next - now(), 0)).unref();
  }

  async #check(): Promise<void> {
    if (!this.ofSession) return this.lose(this.#ends <= this.#confirmed + validity(this.#askedTtl) ? "max_hold" : "its TTL ran out");
    const asked = now();
    // The last certain renewal may be a third of the TTL older than the sidecar's answer at #confirmed.
    let until = this.#confirmed + validity(this.#ttl) - this.#ttl / 3;
    // This process did not run for a while. The sidecar has renewed the lease meanwhile, or reports the loss before it answers.
    if (asked >= until) until = asked + this.#ttl / 3;
    try {
      await this.#connection!.roundTrip({
        method: "session.ping", params: {}, ownDeadline: false, waits: false, deadline: until, signal: this.signal, lease: undefined, opens: undefined,
      });
      this.#confirm(asked);
    } catch {
      if (!this.signal.aborted) this.lose("the sidecar does not answer");
    }
  }
}

/** A refusal. A stale one is about a grant that ended with its broken connection, and does not mean that the name is held now. */
export class Refusal extends Error {
  constructor(readonly stale: boolean, readonly busy: BusyError) {
    super(busy.message);
  }
}

/** A lock that this client holds. */
export class Lock extends Lease {}

/** Permits of a semaphore that this client holds. */
export class Semaphore extends Lease {}

/** The outcome of the use of a pool's member, as the params of pool.release and permit.report. */
export type Outcome = Omit<Methods["permit.report"]["params"], "pool" | "lease">;

const DAY = 86_400_000;
const WEEK = 7 * DAY;
const YEAR = 366 * DAY;

/** Returns the milliseconds, rounded up and within bounds. */
function within(ms: number | undefined, min: number, max: number): number | undefined {
  return ms === undefined || Number.isNaN(ms) ? undefined : Math.min(Math.max(Math.ceil(ms), min), max);
}

/** A member of a pool that this client holds. */
export class Member extends Lease {
  /** The id of the member. */
  id = "";
  /** The text that was put with the member. */
  meta = "";
  #began = 0;

  override async acquire(params: Params, options: CallOptions): Promise<Params> {
    const r = await super.acquire(params, options);
    this.#began = now();
    this.id = String(r["id"]);
    this.meta = String(r["meta"] ?? "");
    return r;
  }

  /**
   * Gives the member back, and reports the outcome of its use; without one it is ok. Numbers are bounded to what the sidecar
   * accepts: a value from a server's header must not make the release fail. For a member of pool() only outcome, cooldown_ms and unban_after_ms are sent.
   */
  report(outcome: Outcome = {}, options: CallOptions = {}): Promise<void> {
    const { status, retry_after_ms, duration_ms = now() - this.#began, cooldown_ms, unban_after_ms } = outcome;
    const of = { outcome: outcome.outcome, cooldown_ms: within(cooldown_ms, 0, WEEK), unban_after_ms: within(unban_after_ms, 0, YEAR) };
    const more = {
      status: status !== undefined && status >= 100 && status <= 999 ? status : undefined,
      retry_after_ms: within(retry_after_ms, -YEAR, YEAR), duration_ms: within(duration_ms, 0, DAY),
    };
    return this.endBy(this.kind.release, this.kind === permits ? { ...of, ...more } : of, options);
  }

  /** Reports the outcome of the function that used the member, unless it has been reported. */
  async reportEnd(outcome: Outcome): Promise<void> {
    try {
      await this.settle(() => this.report(outcome));
    } catch (error) {
      // The outcome was refused, so nothing was released: release as unused.
      if (error instanceof CoxswainError && error.code === "INVALID_ARGUMENT") await this.settle(() => this.report(this.kind.unused));
      throw error;
    }
  }
}

/** A member of a pool whose breaker let it pass and whose bucket had enough tokens. */
export class Permit extends Member {
  /** The generation of the member's breaker. */
  generation = 0;
  /** Whether the breaker is half open and this permit is one of its probes. */
  probe = false;
  /** How many tokens the member's bucket still has, rounded down. */
  remaining = 0;

  override async acquire(params: Params, options: CallOptions): Promise<Params> {
    const r = (await super.acquire(params, options)) as Params & Methods["permit.acquire"]["result"];
    this.generation = r.generation ?? 0;
    this.probe = r.probe ?? false;
    this.remaining = r.remaining;
    return r;
  }
}

/** An entry of a queue that this client holds. */
export class Entry extends Lease {
  id = "";
  body: Uint8Array = new Uint8Array();
  /** How often the entry was taken, from 1. */
  attempt = 0;

  override async acquire(params: Params, options: CallOptions): Promise<Params> {
    const r = (await super.acquire(params, options)) as Params & Methods["queue.dequeue"]["result"];
    this.id = r.id ?? "";
    this.body = r.body?.slice() ?? this.body;
    this.attempt = r.attempt ?? 0;
    return r;
  }

  /** Acknowledges the entry, which removes it. release puts it back at the head of the queue. */
  ack(options: CallOptions = {}): Promise<void> {
    return this.endBy("queue.ack", {}, options);
  }
}

/** A reserved key of a set, whose work this client has to do. */
export class Reservation extends Lease {
  /** Commits the key as done for keep_ms milliseconds; absent = a day. release gives the reservation up. */
  commit(params: { keep_ms?: number } = {}, options: CallOptions = {}): Promise<void> {
    return this.endBy("seen.commit", params, options);
  }
}
