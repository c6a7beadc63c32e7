// A running gateway (`tests/clients/run` starts it), a tenant for each test, and servers that misbehave.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { Gancho } from "@gancho/client";

export const url = process.env.GANCHO_TEST_URL;
if (!url) throw new Error("run tests/clients/run, which starts a gateway");
export const token = process.env.GANCHO_TEST_TOKEN;
export const operator = new Gancho({ url, token });

export async function makeTenant() {
  const slug = `t-${randomUUID().slice(0, 13)}`;
  await operator.tenants.create({ slug });
  const { key } = await operator.tenants.createApiKey(slug, { scopes: ["publish", "read", "manage"] });
  return { slug, key, gancho: new Gancho({ url, apiKey: key }) };
}

async function listen(t, handler) {
  const server = http.createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Keeps what arrives; answers with `status`. */
export async function receiver(t) {
  const arrived = [];
  const waiting = [];
  const self = { status: 204 };
  self.url = await listen(t, async (request, response) => {
    const body = await bodyOf(request);
    arrived.push({ headers: request.headers, body });
    waiting.shift()?.();
    response.writeHead(self.status).end();
  });
  self.next = async () => {
    if (arrived.length === 0) await new Promise((resolve) => waiting.push(resolve));
    return arrived.shift();
  };
  return self;
}

/**
 * Forwards requests to the gateway; `script` says what becomes of the next ones.
 *
 * `cut`: the gateway gets the request, and the connection is closed before its answer is passed on. `hold`: the same,
 * and the connection stays open without an answer. `drip`: the answer comes a byte at a time. A number: this status,
 * and the gateway gets nothing. `html`: the page of something else. An array: this status, content type and body, and
 * maybe further headers. `reset`: the gateway gets the request, and the connection is reset. `short`: the answer ends
 * before its length. `endless`: an answer that goes on and on. `garbage`: not HTTP. `slow error`: an error whose body does not come.
 */
export async function proxy(t, script = []) {
  const self = { script, requests: [], retryAfter: undefined };
  self.url = await listen(t, async (request, response) => {
    const body = await bodyOf(request);
    self.requests.push({ headers: request.headers, body: body.toString() });
    const act = self.script.shift() ?? "pass";
    if (act === "html") return response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><p>Hello");
    if (act === "redirect") return response.writeHead(308, { location: "https://example.com/" }).end();
    if (Array.isArray(act)) return response.writeHead(act[0], { "content-type": act[1], ...act[3] }).end(act[2]);
    if (act === "garbage") return request.socket.end(Buffer.concat([Buffer.alloc(20, 255), Buffer.from("\r\n\r\n")]));
    if (act === "slow error") return response.writeHead(500, { "content-length": 9 }).write("{");
    if (act === "endless") {
      response.writeHead(200, { "content-type": "application/json" });
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65536, 32)));
      };
      response.on("drain", more);
      return more();
    }
    if (typeof act === "number") {
      const wait = self.retryAfter ? { "retry-after": self.retryAfter } : {};
      return response.writeHead(act, { "content-type": "text/html", ...wait }).end("<p>busy");
    }
    const forwarded = http.request(url + request.url, { method: request.method, headers: request.headers }).end(body);
    const [answer] = await once(forwarded, "response");
    const content = await bodyOf(answer);
    if (act === "cut") return request.socket.destroy();
    if (act === "reset") return request.socket.resetAndDestroy();
    if (act === "short") {
      response.writeHead(answer.statusCode, { ...answer.headers, "content-length": content.length });
      return response.write(content.subarray(0, -5), () => request.socket.destroy());
    }
    if (act === "hold") return;
    response.writeHead(answer.statusCode, answer.headers);
    if (act !== "drip") return response.end(content);
    for (const byte of content) {
      if (response.destroyed) return;
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    response.end();
  });
  return self;
}

export async function collect(list) {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
}

export async function waitFor(condition) {
  const end = Date.now() + 30_000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
