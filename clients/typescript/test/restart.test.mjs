// The gateway is killed and started again while a client is at work.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Gancho } from "@gancho/client";
import { collect, waitFor } from "./servers.mjs";

const token = "t".repeat(40);

async function startGateway(t) {
  const folder = mkdtempSync(join(tmpdir(), "gancho-restart-"));
  const self = { listen: "127.0.0.1:0" };
  self.start = async () => {
    const log = join(folder, "log");
    writeFileSync(log, "");
    const env = {
      PATH: process.env.PATH, GANCHO_ADMIN_TOKEN: token, GANCHO_DATA_DIR: folder,
      GANCHO_DATABASE_URL: `sqlite:${folder}/gancho.db`, GANCHO_API_LISTEN: self.listen,
      GANCHO_INGEST_LISTEN: "127.0.0.1:0", GANCHO_EMAIL_VIA: "sink", GANCHO_LOG_FORMAT: "json",
    };
    const command = `exec "${process.env.GANCHO_TEST_PROGRAM}" serve > "${log}" 2>&1`;
    self.process = spawn("sh", ["-c", command], { env });
    const ready = await waitFor(() => readFileSync(log, "utf8").split("\n").find((line) => line.includes("gancho is ready")));
    self.listen = JSON.parse(ready).api;
    self.url = `http://${self.listen}`;
  };
  self.kill = async () => {
    self.process.kill("SIGKILL");
    await once(self.process, "exit");
  };
  t.after(async () => {
    await self.kill();
    rmSync(folder, { recursive: true });
  });
  await self.start();
  const operator = new Gancho({ url: self.url, token });
  await operator.tenants.create({ slug: "m2" });
  const { key } = await operator.tenants.createApiKey("m2", {});
  return { gateway: self, own: new Gancho({ url: self.url, apiKey: key }) };
}

test("pages go on where they were", async (t) => {
  const { gateway, own } = await startGateway(t);
  const { results } = await own.events.publishBatch(Array.from({ length: 300 }, (_, n) => ({ type: "a.b", data: n })));
  const seen = [];
  let again;
  for await (const page of own.events.list({ limit: 50 }).pages()) {
    seen.push(...page.data.map((event) => event.id));
    if (seen.length === 100) {
      await gateway.kill();
      again = new Promise((resolve) => setTimeout(resolve, 500)).then(gateway.start);
    }
  }
  await again;
  assert.deepEqual(new Set(seen), new Set(results.map((result) => result.id)));
  assert.equal(seen.length, 300);
});

test("what is published meanwhile is published once", async (t) => {
  const { gateway, own } = await startGateway(t);
  const ids = [];
  let half;
  const atHalf = new Promise((resolve) => (half = resolve));
  const publishing = (async () => {
    for (let n = 0; n < 200; n++) {
      ids.push((await own.events.publish("a.b", { n })).id);
      if (n === 50) half();
    }
  })();
  await atHalf;
  await gateway.kill();
  await gateway.start();
  await publishing;
  const stored = (await collect(own.events.list())).map((event) => event.id);
  assert.deepEqual(stored.sort(), ids.sort());
});
