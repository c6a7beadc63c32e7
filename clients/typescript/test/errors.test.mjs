// Every mistake is an error with a class of its own that says what to do.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { inspect } from "node:util";
import * as g from "@gancho/client";
import { collect, makeTenant, operator, proxy, token, url, waitFor } from "./servers.mjs";

for (const name of ["GANCHO_URL", "GANCHO_API_KEY", "GANCHO_TENANT"]) delete process.env[name];

/** The error that a call ends with. */
async function caught(kind, call) {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof kind, `${error.name} is not ${kind.name}: ${error.message}`);
    assert.equal(error.name, kind.name);
    return error;
  }
  assert.fail(`no ${kind.name}`);
}

test("no URL and no key are named", async () => {
  assert.match((await caught(g.ConfigurationError, () => new g.Gancho({ apiKey: "k" }))).message, /GANCHO_URL/);
  const error = await caught(g.ConfigurationError, () => new g.Gancho({ url: "http://127.0.0.1:1" }));
  assert.match(error.message, /GANCHO_API_KEY/);
  for (const wrong of ["127.0.0.1:3000", "ftp://x", "http://", "http://x/?a=1"]) {
    await caught(g.ConfigurationError, () => new g.Gancho({ apiKey: "k", url: wrong }));
  }
  await caught(g.ConfigurationError, () => new g.Gancho({ apiKey: "a b", url: "http://127.0.0.1:1" }));
  await caught(g.ConfigurationError, () => new g.Gancho({ apiKey: "a", token: "b", url: "http://127.0.0.1:1" }));
});

test("a client that is logged does not show its key", () => {
  const client = new g.Gancho({ apiKey: "gk_hidden", url: "http://127.0.0.1:1" });
  for (const shown of [client, client.events, client.events.list(), client.with({ timeout: 1 })]) {
    assert.doesNotMatch(JSON.stringify(shown) + inspect(shown, { depth: 9, showHidden: true }), /gk_hidden/);
  }
});

test("variables are defaults", async (t) => {
  const { key } = await makeTenant();
  process.env.GANCHO_URL = `${url}/v1/`;
  process.env.GANCHO_API_KEY = `${key}\n`;
  t.after(() => {
    delete process.env.GANCHO_URL;
    delete process.env.GANCHO_API_KEY;
  });
  assert.ok((await new g.Gancho().events.publish("a.b", 1)).id);
});

test("a refused connection", async () => {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const free = `http://127.0.0.1:${server.address().port}`;
  server.close();
  await once(server, "close");
  const client = new g.Gancho({ apiKey: "k", url: free, maxRetries: 1 });
  const error = await caught(g.APIConnectionError, () => client.events.publish("a.b", 1));
  assert.match(error.message, /ECONNREFUSED/);
});

test("an unknown certificate is refused at once", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gancho-tls-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  const names = ["-subj", "/CN=gateway", "-addext", "subjectAltName=IP:127.0.0.1"];
  const command = ["req", "-x509", ...curve, "-nodes", "-days", "1", ...names, "-keyout", key, "-out", cert];
  execFileSync("openssl", command, { stdio: "ignore" });
  const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const begin = performance.now();
  for (const options of [{}, { fetch: globalThis.fetch }]) {
    const client = new g.Gancho({ apiKey: "k", url: `https://127.0.0.1:${server.address().port}`, ...options });
    const error = await caught(g.APIConnectionError, () => client.events.publish("a.b", 1));
    assert.match(error.message, /certificate/);
  }
  assert.ok(performance.now() - begin < 2000);
});

test("something else answers", async (t) => {
  const between = await proxy(t, ["html", "redirect", 404]);
  const client = new g.Gancho({ apiKey: "k", url: between.url });
  for (let n = 0; n < 3; n++) {
    const error = await caught(g.UnexpectedResponseError, () => client.webhooks.create({ url: "https://a", events: [] }));
    assert.ok(error.detail.includes(between.url) && error.code === "unexpected_response");
  }
});

test("JSON of something else is neither an event that was published nor a page", async (t) => {
  const between = await proxy(t);
  const client = new g.Gancho({ apiKey: "k", url: between.url });
  for (const text of ["[]", "null", '"x"', "1", "{}", '{"data": null}', '{"ok": true}']) {
    for (const call of [() => client.events.publish("a.b", 1), () => client.webhooks.list().page()]) {
      between.script = [[200, "application/json", text]];
      assert.equal((await caught(g.UnexpectedResponseError, call)).code, "unexpected_response");
    }
  }
  for (const cursor of ["5", "{}", '"a"']) {
    between.script = Array(5).fill([200, "application/json", `{"data": [], "next_cursor": ${cursor}}`]);
    await caught(g.UnexpectedResponseError, () => collect(client.webhooks.list()));
  }
});

test("a stream of something else", async (t) => {
  const between = await proxy(t);
  const client = new g.Gancho({ apiKey: "k", url: between.url, timeout: 500 });
  for (const [kind, text] of [["text/html", "<p>"], ["application/json", "{}"], ["application/x-ndjson", "{"]]) {
    between.script = [[200, kind, text]];
    await caught(g.UnexpectedResponseError, () => collect(client.deadLetters.export()));
  }
  between.script = ["hold"];
  await caught(g.APITimeoutError, () => collect(client.deadLetters.export()));
});

test("a problem of something else", async (t) => {
  const between = await proxy(t);
  const client = new g.Gancho({ apiKey: "k", url: between.url });
  const problem = { code: 5, detail: null, title: [], errors: ["a", 1, { pointer: null }], request_id: 7 };
  between.script = [[400, "Application/Problem+JSON; charset=utf-8", JSON.stringify(problem)]];
  const error = await caught(g.BadRequestError, () => client.events.publish("a.b", 1));
  assert.deepEqual([error.code, error.requestId, error.errors], ["5", "7", [{ pointer: "", detail: "" }]]);
  between.script = [[200, "Application/JSON", '{"data": [], "next_cursor": null}']];
  assert.deepEqual(await collect(client.webhooks.list()), []);
});

test("an answer that ends early", async (t) => {
  const between = await proxy(t, [[200, "application/json", '{"data": [{"id": "wh_1', { "x-request-id": "req_1" }]]);
  const client = new g.Gancho({ apiKey: "k", url: between.url });
  const error = await caught(g.UnexpectedResponseError, () => client.webhooks.list().page());
  assert.match(error.detail, /ends early/);
  assert.equal(error.requestId, "req_1");
  between.script = [[422, "application/problem+json", '{"code": "invalid_fie']];
  await caught(g.UnexpectedResponseError, () => client.events.publish("a.b", 1));
});

test("a proxy that cannot reach the gateway", async (t) => {
  const page = [502, "text/html", "<h1>502 Bad Gateway", { "x-request-id": "edge-1" }];
  const between = await proxy(t, Array(9).fill(page));
  const client = new g.Gancho({ apiKey: "k", url: between.url, maxRetries: 1 });
  const error = await caught(g.ServerError, () => client.events.publish("a.b", 1));
  assert.deepEqual([error.status, error.requestId, between.requests.length], [502, "edge-1", 2]);
  await caught(g.ServerError, () => client.webhooks.create({ url: "https://example.com", events: ["*"] }));
  assert.equal(between.requests.length, 3, "it may have been carried out");
});

test("a redirect is not followed", async (t) => {
  const [between, other] = [await proxy(t), await proxy(t)];
  for (const options of [{}, { fetch: globalThis.fetch }]) {
    const client = new g.Gancho({ apiKey: "k", url: between.url, ...options });
    for (const status of [301, 302, 303, 307, 308]) {
      between.script = [[status, "text/html", "", { location: `${other.url}/v1/events` }]];
      const error = await caught(g.UnexpectedResponseError, () => client.events.publish("a.b", 1));
      assert.match(error.detail, /redirects to/);
    }
  }
  assert.deepEqual(other.requests, [], "the key is for the gateway alone");
});

test("an answer without end", async (t) => {
  const between = await proxy(t);
  for (const options of [{}, { fetch: globalThis.fetch }]) {
    between.script = ["endless"];
    const client = new g.Gancho({ apiKey: "k", url: between.url, ...options });
    const error = await caught(g.UnexpectedResponseError, () => client.events.publish("a.b", 1));
    assert.match(error.detail, /more than 64 MiB/);
  }
  for (const kind of ["application/x-ndjson", "text/event-stream"]) {
    between.script = [[200, kind, "x".repeat(65 << 20)]];
    const client = new g.Gancho({ apiKey: "k", url: between.url });
    const error = await caught(g.UnexpectedResponseError, () => collect(client.deadLetters.export()));
    assert.match(error.detail, /more than 64 MiB/);
  }
});

test("an error of a stream whose body does not come", async (t) => {
  const between = await proxy(t, ["slow error"]);
  const client = new g.Gancho({ apiKey: "k", url: between.url, timeout: 500 });
  await caught(g.APITimeoutError, () => collect(client.deadLetters.export()));
});

test("a key that was revoked", async () => {
  const { slug } = await makeTenant();
  const made = await operator.tenants.createApiKey(slug, {});
  const client = new g.Gancho({ url, apiKey: made.key });
  await client.events.publish("a.b", 1);
  await operator.tenants.revokeApiKey(slug, made.id);
  // Keys are cached for a moment.
  const error = await waitFor(() => client.events.publish("a.b", 1).then(() => null, (error) => error));
  assert.deepEqual([error.constructor, error.status, error.code], [g.AuthenticationError, 401, "invalid_credentials"]);
  assert.match(error.requestId, /^req_/);
  assert.ok(!error.message.includes(made.key));
});

test("what another tenant has is not there", async () => {
  const [{ gancho, slug }, { gancho: other }] = [await makeTenant(), await makeTenant()];
  const webhook = await gancho.webhooks.create({ url: "http://127.0.0.1:39999/", events: ["*"] });
  const event = await gancho.events.publish("a.b", 1);
  const [delivery] = await collect(gancho.deliveries.list());
  const calls = [
    () => other.webhooks.get(webhook.id),
    () => other.webhooks.update(webhook.id, { name: "mine" }),
    () => other.webhooks.rotateSecret(webhook.id),
    () => other.webhooks.delete(webhook.id),
    () => other.events.get(event.id),
    () => other.deliveries.get(delivery.id),
    () => other.deliveries.retry(delivery.id),
  ];
  assert.deepEqual(await collect(other.deliveries.list({ webhook_id: webhook.id })), []);
  for (const call of calls) {
    const error = await caught(g.NotFoundError, call);
    assert.ok(error.code === "not_found" && error.detail && error.requestId);
  }
  await assert.rejects(other.with({ tenant: slug }).events.get(event.id), g.APIError);
  assert.equal((await gancho.webhooks.get(webhook.id)).name, "");
});

test("a wrong key", async () => {
  const client = new g.Gancho({ apiKey: "gk_wrong", url });
  const error = await caught(g.AuthenticationError, () => client.events.publish("a.b", 1));
  assert.deepEqual([error.status, error.code], [401, "invalid_credentials"]);
  assert.match(error.requestId, /^req_/);
});

test("an invalid body", async () => {
  const { gancho } = await makeTenant();
  const error = await caught(g.ValidationError, () => gancho.webhooks.create({ url: "ftp://example.com", events: [] }));
  assert.deepEqual([error.status, error.code], [422, "invalid_field"]);
  assert.deepEqual(error.errors.map((fault) => fault.pointer).sort(), ["/events", "/url"]);
  assert.ok(error.message.includes("/url") && error.message.includes(error.requestId));
});

test("what is not there, and what only the operator may", async () => {
  const { gancho } = await makeTenant();
  await caught(g.NotFoundError, () => gancho.webhooks.get("wh_01M7K4SA0A000Y29CZFYEDD3T0"));
  const error = await caught(g.PermissionDeniedError, () => collect(gancho.tenants.list()));
  assert.equal(error.code, "operator_only");
  assert.equal((await caught(g.BadRequestError, () => operator.events.publish("a.b", 1))).code, "tenant_required");
});

test("what cannot be sent", async () => {
  const { gancho } = await makeTenant();
  const loop = {};
  loop.self = loop;
  for (const data of [loop, 1n]) await caught(g.InvalidRequestError, () => gancho.events.publish("a.b", data));
  for (const empty of ["", ".", "..", undefined]) {
    await caught(g.InvalidRequestError, () => gancho.deadLetters.delete(empty));
  }
});

test("a date that is none, and a tenant that is null", async () => {
  await caught(g.InvalidRequestError, () => operator.events.list({ since: new Date("never") }).page());
  const { slug } = await makeTenant();
  const error = await caught(g.BadRequestError, () => operator.with({ tenant: slug }).with({ tenant: null }).events.publish("a.b", 1));
  assert.equal(error.code, "tenant_required");
});

test("a rate limit is waited for", async () => {
  const { gancho, key, slug } = await makeTenant();
  await operator.tenants.update(slug, { publish_rate: { count: 1, per: "2s" } });
  const begin = performance.now();
  const hasty = gancho.with({ maxRetries: 0 });
  const error = await caught(g.RateLimitError, async () => {
    for (let n = 0; n < 50; n++) await hasty.events.publish("a.b", 1);
  });
  assert.ok(error.status === 429 && error.retryAfter > 0 && key);
  await gancho.events.publish("a.b", 2);
  assert.ok(performance.now() - begin >= 1000);
});

test("the operator acts for a tenant", async () => {
  const { slug } = await makeTenant();
  const acting = new g.Gancho({ url, token, tenant: slug });
  const { id } = await acting.events.publish("a.b", 1);
  assert.equal((await operator.with({ tenant: slug }).events.get(id)).type, "a.b");
});
