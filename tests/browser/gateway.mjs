// A gateway of its own, and a receiver that answers as it is told.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createListener } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function startReceiver() {
  const receiver = { status: 200, requests: [] };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      receiver.requests.push({ headers: request.headers, body });
      response.writeHead(receiver.status, { "content-type": "text/html", "x-answer": "<i>kept as text</i>" });
      response.end(`<script>alert("from the receiver")</script> ${receiver.status}`);
    });
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  receiver.url = `http://127.0.0.1:${server.address().port}/hook`;
  receiver.stop = () => server.close();
  return receiver;
}

export async function freePort() {
  const listener = createListener();
  await new Promise((ready) => listener.listen(0, "127.0.0.1", ready));
  const { port } = listener.address();
  await new Promise((closed) => listener.close(closed));
  return port;
}

export async function startGateway(binary, variables = {}) {
  const folder = await mkdtemp(join(tmpdir(), "gancho-browser-"));
  const token = `browser-${randomBytes(24).toString("hex")}`;
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(binary, ["serve"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      GANCHO_ADMIN_TOKEN: token,
      GANCHO_DATA_DIR: folder,
      GANCHO_DATABASE_URL: `sqlite://${join(folder, "gancho.db")}`,
      GANCHO_API_LISTEN: address,
      GANCHO_INGEST_LISTEN: "127.0.0.1:0",
      GANCHO_EMAIL_VIA: "sink",
      GANCHO_ALLOW_HTTP: "true",
      GANCHO_ALLOW_CIDRS: "127.0.0.0/8",
      ...variables,
    },
  });
  let log = "";
  child.stdout.on("data", (part) => (log += part));
  child.stderr.on("data", (part) => (log += part));
  const url = `http://${address}`;
  const ended = new Promise((end) => child.once("exit", end));
  const isReady = () => fetch(`${url}/readyz`).then((answer) => answer.ok, () => false);
  await until("the gateway is ready", isReady, () => log);
  return {
    url,
    token,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
    async call(method, path, credential, body) {
      const headers = { authorization: `Bearer ${credential}`, "content-type": "application/json" };
      const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
      return answer.status === 204 ? null : answer.json();
    },
  };
}

export async function until(what, holds, explain = () => "") {
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((pass) => setTimeout(pass, 50));
  }
  throw new Error(`waited in vain until ${what}\n${explain()}`);
}
