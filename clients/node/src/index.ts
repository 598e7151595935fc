import { Client } from "./client.js";

export { Client, type Metadata, type Noun, type OutcomeOptions, type ParamsOf, type ResultOf } from "./client.js";
export { type CallOptions, DEFAULT_SOCKET, type Options, type SidecarEvent } from "./caller.js";
export { BusyError, ClosedError, type Code, ConnectError, CoxswainError, LimitedError, LostError, ReleasedError } from "./errors.js";
export { type Entry, type Lease, type Lock, type Member, type Outcome, type Permit, type Reservation, type Semaphore } from "./lease.js";
export type * from "./methods.js";
export { type Channels, type PubsubOptions } from "./pubsub.js";
export { type Message, type Nack, NackError, type Stream, type StreamOptions } from "./stream.js";

/** Connects to the sidecar: `await using c = await connect()`. */
export const connect = Client.connect;
