import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Client } from "../src/index.js";
import { client, LIMIT_MS, redis, root, sidecar } from "./support.js";

const run = promisify(execFile);
const page = readFileSync(join(root, "docs/node.md"), "utf8");
const blocks = [...page.matchAll(/```js\n(.*?)```/gs)].map((m) => m[1]!);

test("the example prints what the page describes", async (t) => {
  const { socket } = await sidecar(t);
  const { stdout } = await run(process.execPath, ["examples/first.mjs"], { env: { ...process.env, COXSWAIN_SOCKET: socket }, timeout: LIMIT_MS });
  assert.match(stdout, /^allowed\nallowed\nallowed\nrefused, again in \d+ ms\nlocked, fence \d+n\n$/);
});

test("every program of the page runs to its end", { timeout: 10 * LIMIT_MS }, async (t) => {
  const { socket } = await sidecar(t, await redis(t));
  const c = await client(t, socket);
  await prepare(c);
  // Within the package, so that the import of its name finds it.
  mkdirSync("build", { recursive: true });
  const dir = mkdtempSync("build/docs-");
  t.after(() => rmSync(dir, { recursive: true }));
  assert.ok(blocks.length >= 6, String(blocks.length));
  for (const [i, text] of blocks.entries()) {
    assert.match(text, /^import /, "each block must be a program");
    const file = join(dir, `${i}.mjs`);
    writeFileSync(file, text);
    await assert.doesNotReject(run(process.execPath, [file], { env: { ...process.env, COXSWAIN_SOCKET: socket }, timeout: LIMIT_MS }), text);
  }
});

/** Creates what the programs of the page use. */
async function prepare(c: Client): Promise<void> {
  await c.ratelimit.put_rule({ rule: { name: "crawl", algorithm: "token_bucket", limits: [{ limit: 100, period_ms: 1000 }] } });
  await c.pool.put({ pool: "agents", members: [{ id: "agent-1", meta: "Mozilla/5.0" }] });
}
