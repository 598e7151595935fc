import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { decodeMultiStream, encode } from "@msgpack/msgpack";
import { type Client, connect, type Options } from "../src/index.js";

/** The folder of the project; tests run in clients/node. */
export const root = resolve("../..");
/** Far longer than any step of a test takes. */
export const LIMIT_MS = 60_000;

export const folder = (t: TestContext): string => {
  const dir = mkdtempSync(join(tmpdir(), "coxswain-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

type Truthy<T> = Exclude<T, false | undefined | null | 0 | "">;

/** Waits until a function returns something truthy, and returns that. */
export async function until<T>(is: () => T | Promise<T>, what: string): Promise<Truthy<T>> {
  for (const end = performance.now() + LIMIT_MS; ; await sleep(5)) {
    const got = await is();
    if (got) return got as Truthy<T>;
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`);
  }
}

async function ended(process: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const exit = once(process, "exit");
  process.kill(signal);
  await exit;
}

/** A real sidecar, which can be killed and started again. */
export class Sidecar {
  #process: ChildProcess | undefined;
  #output = "";

  constructor(readonly socket: string, private readonly redis: string) {}

  async start(): Promise<void> {
    const binary = process.env["COXSWAIN_SIDECAR"] ?? join(root, "bin/sidecar");
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("COXSWAIN_")));
    const p = spawn(binary, ["serve", "--redis", this.redis, "--socket", this.socket, "--http", "127.0.0.1:0"], { env, stdio: ["ignore", "ignore", "pipe"] });
    this.#process = p;
    p.stderr!.on("data", (text: Buffer) => (this.#output = (this.#output + text.toString()).slice(-4000)));
    p.on("error", (error) => (this.#output += `${binary}: ${error.message}`));
    // Until it is ready and not only until it listens: before it reaches its store its answers are others.
    const waiting = spawn(binary, ["wait", "--timeout", `${LIMIT_MS}ms`, "--socket", this.socket], { env, stdio: "ignore" });
    p.once("exit", () => waiting.kill());
    const [code] = (await once(waiting, "exit")) as [number | null];
    if (code !== 0) throw new Error(`the sidecar does not run: ${this.#output}`);
  }

  /** Kills the process, as a crash does. */
  async kill(): Promise<void> {
    if (this.#process) await ended(this.#process, "SIGKILL");
  }
}

/** Starts a sidecar, on a store of its own unless a Redis is named. */
export async function sidecar(t: TestContext, redis = "embedded"): Promise<Sidecar> {
  const s = new Sidecar(join(folder(t), "s.sock"), redis);
  t.after(() => s.kill());
  await s.start();
  return s;
}

/** Starts a Redis, not at a port, which another process could take first, and returns its address. */
export async function redis(t: TestContext): Promise<string> {
  const dir = folder(t);
  const socket = join(dir, "redis.sock");
  const p = spawn("redis-server", ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir], { stdio: "ignore" });
  t.after(() => ended(p, "SIGKILL"));
  await once(p, "spawn");
  return `unix://${socket}`;
}

export async function client(t: TestContext, socket: string, options: Options = {}): Promise<Client> {
  const c = await connect({ socket, client: "test", deadlineMs: LIMIT_MS, ...options });
  t.after(() => c.close());
  return c;
}

/** One connection of a fake sidecar. */
export class Peer {
  constructor(readonly socket: Socket) {}

  write(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  reply(msgid: number, result: unknown): void {
    this.write(encode([1, msgid, null, result]));
  }

  fail(msgid: number, code: string, more: object = {}): void {
    this.write(encode([1, msgid, { code, message: "no", retryable: false, ...more }, null]));
  }

  notify(method: string, params: unknown): void {
    this.write(encode([2, method, [params]]));
  }
}

/** A frame that the fake received. */
export interface Got {
  readonly peer: Peer;
  readonly method: string;
  /** Undefined = a notification. */
  readonly msgid: number | undefined;
  readonly params: Record<string, unknown>;
  readonly raw: unknown;
}

/** A fake sidecar that a test controls. It answers session.hello and session.ping itself. */
export class Fake {
  readonly #got: Got[] = [];
  readonly peers: Peer[] = [];
  hello: Record<string, unknown> = {};
  /** session.hello is answered after this. */
  welcome: Promise<void> = Promise.resolve();
  /** Whether it ignores pings, as a stopped sidecar does. */
  silent = false;

  constructor(readonly socket: string) {}

  async serve(socket: Socket): Promise<void> {
    const peer = new Peer(socket);
    this.peers.push(peer);
    socket.on("error", () => undefined); // the client closed with unread data
    try {
      for await (const raw of decodeMultiStream(socket)) {
        const frame = raw as unknown[];
        const [msgid, method, params] = frame[0] === 0 ? [frame[1] as number, frame[2], frame[3]] : [undefined, frame[1], frame[2]];
        const got = { peer, msgid, method: String(method), params: ((params as unknown[])[0] ?? {}) as Record<string, unknown>, raw };
        if (method === "session.hello") await this.welcome.then(() => peer.reply(msgid!, helloResult(this.hello)));
        else if (method === "session.ping") this.silent || peer.reply(msgid!, { now_at_ms: 1 });
        else this.#got.push(got);
      }
    } catch {
      // The connection broke.
    }
  }

  /** Waits for the next call of a method. */
  async next(method: string): Promise<Got> {
    return await until(() => {
      const i = this.#got.findIndex((got) => got.method === method);
      return i >= 0 && this.#got.splice(i, 1)[0];
    }, `the client calls ${method}`);
  }

  /** The methods of calls that next has not returned. */
  get methods(): string[] {
    return this.#got.map((got) => got.method);
  }
}

const helloResult = (more: object): object => ({
  server: "fake", version: "0", protocol: 1, session: "s", methods: [], now_at_ms: 1, limits: { max_frame_bytes: 1 << 20, max_inflight: 1024 }, ...more,
});

export async function fake(t: TestContext): Promise<Fake> {
  const f = new Fake(join(folder(t), "s.sock"));
  const server = createServer((socket) => void f.serve(socket)).listen(f.socket);
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const peer of f.peers) peer.socket.destroy();
  });
  return f;
}

/** A way to a sidecar on which replies can be held up. */
export class Way {
  #held: Promise<void> | undefined;

  constructor(readonly socket: string, private readonly to: string) {}

  serve(from: Socket): void {
    const to = createConnection(this.to);
    from.pipe(to).on("data", (data) => void Promise.resolve(this.#held).then(() => from.write(data)));
    for (const [one, other] of [[from, to], [to, from]] as const) one.on("error", () => undefined).on("close", () => other.destroy());
  }

  /** Holds up what the sidecar sends, until the function that it returns is called. */
  hold(): () => void {
    let release = (): void => {};
    this.#held = new Promise((resolve) => (release = resolve));
    return release;
  }
}

export async function way(t: TestContext, to: string): Promise<Way> {
  const w = new Way(join(folder(t), "w.sock"), to);
  const server = createServer((socket) => w.serve(socket)).listen(w.socket);
  await once(server, "listening");
  t.after(() => server.close());
  return w;
}
