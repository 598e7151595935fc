import type { Holder } from "./methods.js";

/** The codes of errors: those of the protocol, and in lower case those that this client adds. */
export type Code =
  | "INVALID_ARGUMENT" | "INVALID_REQUEST" | "METHOD_NOT_FOUND" | "NOT_FOUND" | "FAILED_PRECONDITION" | "PERMISSION_DENIED" | "CONFLICT"
  | "DEADLINE_EXCEEDED" | "CANCELLED" | "OVERLOADED" | "UNAVAILABLE" | "DRAINING" | "INTERNAL"
  | "unreachable" | "closed" | "busy" | "limited" | "lost" | "released";

const retryable: ReadonlySet<string> = new Set(["UNAVAILABLE", "OVERLOADED", "DRAINING", "DEADLINE_EXCEEDED"]);

/** The fields of an error besides its code and its text. */
export interface ErrorFields {
  retryable?: boolean;
  /** Milliseconds to wait before the next try; 0 = not known. */
  retryAfterMs?: number;
  details?: Record<string, unknown>;
  cause?: unknown;
}

/** The base of all errors of this client. The errors of the sidecar have no classes of their own: check code. */
export class CoxswainError extends Error {
  /** One of Code; a later version of the sidecar may send others. */
  readonly code: Code | (string & {});
  /** The same call may succeed later, unchanged. */
  readonly retryable: boolean;
  /** Milliseconds to wait before the next try; 0 = not known, below 0 = waiting does not help. */
  readonly retryAfterMs: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: Code | (string & {}), message: string, fields: ErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = fields.retryable ?? retryable.has(code);
    this.retryAfterMs = fields.retryAfterMs ?? 0;
    this.details = fields.details ?? {};
  }

  /** The call may have been carried out although it failed: its reply was lost, and it was not safe to repeat it. */
  get maybeExecuted(): boolean {
    return this.details["maybe_executed"] === true;
  }

  /** The name of what is wrong with Redis, such as oom or readonly, if that is the cause. */
  get trouble(): string | undefined {
    const trouble = this.details["trouble"];
    return typeof trouble === "string" ? trouble : undefined;
  }
}

/** No sidecar was reached in time. */
export class ConnectError extends CoxswainError {
  constructor(readonly socket: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super("unreachable", `cannot reach the sidecar at ${socket}: ${why}: ${remedy(cause)}`, { cause, retryable: !hopeless(cause) });
  }
}

/** The program on the socket is a sidecar of another protocol version. */
export class ProtocolError extends Error {}

/** Whether another attempt to connect cannot succeed. */
export function hopeless(cause: unknown): boolean {
  return cause instanceof ProtocolError || ["EACCES", "EPERM", "ENAMETOOLONG"].includes(errno(cause));
}

function remedy(cause: unknown): string {
  switch (errno(cause)) {
    case "ENOENT":
      return "is it running? start it with sidecar serve, or name its socket in COXSWAIN_SOCKET";
    case "ECONNREFUSED":
      return "is it running? the socket's file is there and nobody listens on it";
    case "EACCES":
    case "EPERM":
      return "this user may not open the socket: join its group, or set socket.gid and socket.mode of the sidecar";
    case "ENAMETOOLONG":
      return "a Unix socket takes a path of 107 bytes: choose a shorter one";
    default:
      return "is it running, and is this its socket?";
  }
}

function errno(cause: unknown): string {
  const code = (cause as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** The client was closed. */
export class ClosedError extends CoxswainError {
  constructor() {
    super("closed", "the client is closed");
  }
}

/** An acquisition was refused, for example because another caller holds the lock. */
export class BusyError extends CoxswainError {
  constructor(
    readonly noun: string,
    /** The name of the lock, pool or other resource. */
    readonly resource: string,
    /** Why a pool, a permit or a key was refused, such as cooling or open. */
    readonly reason: string | undefined,
    /** The holder of the lock, if it is known. */
    readonly heldBy: Holder | undefined,
    retryAfterMs: number,
  ) {
    const holder = heldBy ? `: held by ${heldBy.client} ${heldBy.instance}` : "";
    const until = retryAfterMs > 0 ? ` for up to ${retryAfterMs} ms` : "";
    super("busy", `${noun} ${resource}: ${reason ?? "busy"}${holder}${until}`, { retryAfterMs, retryable: retryAfterMs >= 0 });
  }
}

/** A limit refused. After retryAfterMs it admits the call if no other call is admitted meanwhile; below 0 = never. */
export class LimitedError extends CoxswainError {
  constructor(readonly rule: string, readonly key: string, readonly deniedBy: string | undefined, retryAfterMs: number) {
    const when = retryAfterMs < 0 ? "it never fits" : `again in ${retryAfterMs} ms`;
    super("limited", `${rule} ${key}: refused by ${deniedBy ?? "limit"}, ${when}`, { retryAfterMs, retryable: retryAfterMs >= 0 });
  }
}

/** A lease ended although its holder did not release it. */
export class LostError extends CoxswainError {
  constructor(readonly reason: string) {
    super("lost", `lost: ${reason}`);
  }
}

/** The holder released the lease. */
export class ReleasedError extends CoxswainError {
  constructor() {
    super("released", "released");
  }
}

/** Returns the error of an error reply, in list or map form. */
export function errorOf(reply: unknown): CoxswainError {
  if (Array.isArray(reply)) {
    const [, code = "INTERNAL", text = String(reply[1])] = /^([A-Z_]+): (.*)$/s.exec(String(reply[1])) ?? [];
    return new CoxswainError(code, text, text.startsWith("maybe executed: ") ? { details: { maybe_executed: true } } : {});
  }
  const map = reply as { code: string; message: string; retryable?: boolean; retry_after_ms?: number; details?: Record<string, unknown> };
  return new CoxswainError(map.code, map.message, { retryable: map.retryable, retryAfterMs: map.retry_after_ms, details: map.details });
}

/** The error of a call whose deadline has passed. */
export function tooLate(): CoxswainError {
  return new CoxswainError("DEADLINE_EXCEEDED", "no reply in time; the call may have been carried out");
}

/** The error of calls whose connection has ended. */
export class BrokenError extends Error {
  constructor(cause: Error, /** The call may have reached the sidecar. */ readonly sent: boolean) {
    super(`connection to the sidecar lost: ${cause.message}`, { cause });
  }
}
