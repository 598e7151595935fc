import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { decode, encode } from "@msgpack/msgpack";
import { cancelFrame, requestFrame } from "../src/connection.js";
import { CoxswainError, type SidecarEvent } from "../src/index.js";
import { client, fake, root, until } from "./support.js";

interface Vector {
  name: string;
  hex: string;
  json?: unknown;
  kind: string;
  msgid: number;
  method: string;
  params: Record<string, unknown>;
  error?: { code: string; message: string; retryable: boolean; retry_after_ms?: number; details?: Record<string, unknown> };
}

const folder = join(root, "client/testdata/vectors");

/** Reads integers above 2^53 as text, as plain writes them. */
const read = (file: string): Vector[] =>
  JSON.parse(readFileSync(join(folder, file), "utf8").replace(/(?<=[\s:[,])(-?\d{16,})(?=\s*[,\]}])/g, (n) => (Number.isSafeInteger(Number(n)) ? n : `"${n}n"`)));

/** Writes a decoded value as the vectors' JSON does. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
    } catch {
      return { $bin: Buffer.from(value).toString("hex") };
    }
  }
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}n`;
  if (Array.isArray(value)) return value.map(plain);
  if (value !== null && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
  return value;
}

test("every vector is decoded as its JSON", () => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  assert.equal(files.length, 5);
  for (const file of files) {
    for (const vector of read(file)) {
      if (!("json" in vector)) continue;
      const value = decode(Buffer.from(vector.hex, "hex"), { useBigInt64: true, rawStrings: true, mapKeyConverter: (key) => String(plain(key)) });
      assert.deepEqual(plain(value), vector.json, `${file}: ${vector.name}`);
    }
  }
});

test("requests are written byte for byte as in the vectors", () => {
  for (const vector of read("requests.json")) {
    const frame = vector.kind === "notification" ? cancelFrame(3) : requestFrame(vector.msgid, vector.method, vector.params);
    assert.equal(Buffer.from(frame).toString("hex"), vector.hex, vector.name);
  }
});

test("replies and notifications of the vectors are read", async (t) => {
  const f = await fake(t);
  const events: SidecarEvent[] = [];
  const c = await client(t, f.socket, { onEvent: (event) => events.push(event) });
  for (const vector of read("replies.json")) {
    const bytes = Buffer.from(vector.hex, "hex");
    if (vector.kind === "notification") {
      f.peers.at(-1)!.write(bytes);
      const event = await until(() => events.shift(), `${vector.name} is received`);
      assert.deepEqual([event.method, plain(event.params)], [vector.method, vector.params], vector.name);
      continue;
    }
    const call = c.call("test.vector").then((result) => ({ result }), (error: unknown) => ({ error }));
    const got = await f.next("test.vector");
    const wide = bytes[2] === 0xcf ? 9 : 1; // the msgid of the vector, which the msgid of the call replaces
    got.peer.write(Buffer.concat([bytes.subarray(0, 2), encode(got.msgid), bytes.subarray(2 + wide)]));
    const answer = await call;
    if (!vector.error) {
      assert.deepEqual(plain("result" in answer ? answer.result : answer), (vector.json as unknown[])[3], vector.name);
      continue;
    }
    assert.ok("error" in answer && answer.error instanceof CoxswainError, vector.name);
    const { code, message, retryable, retryAfterMs, details } = answer.error;
    assert.deepEqual({ code, message, retryable, retryAfterMs }, {
      code: vector.error.code, message: vector.error.message, retryable: vector.error.retryable, retryAfterMs: vector.error.retry_after_ms ?? 0,
    }, vector.name);
    if (vector.error.details) assert.deepEqual({ ...details, ...vector.error.details }, details, vector.name);
  }
});
