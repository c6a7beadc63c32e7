// Publishing: alone, in batches, and exactly once whatever happens to the connection.

import assert from "node:assert/strict";
import test from "node:test";
import { APIConnectionError, APITimeoutError, Gancho, RateLimitError, ValidationError } from "@gancho/client";
import { collect, makeTenant, proxy } from "./servers.mjs";

test("an event is published and read back", async () => {
  const { gancho } = await makeTenant();
  const deliver_at = new Date(Date.now() + 3_600_000);
  const published = await gancho.events.publish("invoice.paid", { n: 1 }, { external_id: "inv_1", deliver_at });
  const event = await gancho.events.get(published.id);
  assert.deepEqual([event.type, event.data, event.external_id], ["invoice.paid", { n: 1 }, "inv_1"]);
});

test("any JSON value is data", async () => {
  const { gancho } = await makeTenant();
  for (const data of [null, 0, "", [], "João 🪝", { a: [1, { b: null }] }]) {
    const { id } = await gancho.events.publish("a.b", data);
    assert.deepEqual((await gancho.events.get(id)).data, data);
  }
});

test("a repeated idempotency key publishes one event", async () => {
  const { gancho } = await makeTenant();
  for (const idempotency_key of ["order-1", "pedido nº 1"]) {
    const first = await gancho.events.publish("a.b", 1, { idempotency_key });
    assert.equal((await gancho.events.publish("a.b", 1, { idempotency_key })).id, first.id);
    await assert.rejects(gancho.events.publish("a.b", 2, { idempotency_key }), (error) => {
      return error instanceof ValidationError && error.code === "idempotency_mismatch";
    });
  }
  assert.equal((await collect(gancho.events.list())).length, 2);
});

test("a batch says what became of each event", async () => {
  const { gancho } = await makeTenant();
  const outcome = await gancho.events.publishBatch([
    { type: "a.b", data: 1 },
    { type: "", data: 2 },
    { type: "a.c", data: null, external_id: "x" },
  ]);
  assert.deepEqual([outcome.accepted, outcome.refused], [2, 1]);
  assert.equal(outcome.results[1].error.errors[0].pointer, "/events/1/type");
});

const ways = { "node:http": {}, fetch: { fetch: globalThis.fetch } };
const scripts = [["cut"], ["cut", "cut", "cut"], ["hold"], ["reset"], ["short"], ["garbage"], [503, "cut", 502, "reset"]];

for (const [way, options] of Object.entries(ways)) {
  for (const losses of scripts) {
    test(`a lost answer makes no second event: ${losses} with ${way}`, async (t) => {
      const { gancho, key } = await makeTenant();
      const between = await proxy(t, [...losses]);
      const client = new Gancho({ apiKey: key, url: between.url, timeout: 1000, ...options });
      const published = await client.events.publish("invoice.paid", { n: 1 });
      const bodies = new Set(between.requests.map((request) => request.body));
      assert.equal(between.requests.length, losses.length + 1);
      assert.equal(bodies.size, 1);
      assert.match([...bodies][0], /"idempotency_key":"/);
      assert.deepEqual((await collect(gancho.events.list())).map((event) => event.id), [published.id]);
    });
  }

  for (const fault of ["hold", "drip"]) {
    test(`a deadline is kept: ${fault} with ${way}`, async (t) => {
      const { key } = await makeTenant();
      const between = await proxy(t, Array(9).fill(fault));
      const begin = performance.now();
      const client = new Gancho({ apiKey: key, url: between.url, timeout: 500, deadline: 2000, ...options });
      await assert.rejects(client.events.publish("a.b", 1), APITimeoutError);
      const took = performance.now() - begin;
      assert.ok(took > 500 && took < 4000 && between.requests.length > 1, `${took} ms`);
    });
  }

  test(`a call can be canceled with ${way}`, async (t) => {
    const { key } = await makeTenant();
    const between = await proxy(t, Array(9).fill("hold"));
    const client = new Gancho({ apiKey: key, url: between.url, ...options });
    const stop = new AbortController();
    const call = client.with({ signal: stop.signal }).events.publish("a.b", 1);
    setTimeout(() => stop.abort(), 200);
    await assert.rejects(call, { name: "AbortError" });
    assert.equal(between.requests.length, 1);
  });
}

test("a key that is null is made by the client", async (t) => {
  const { gancho, key } = await makeTenant();
  const between = await proxy(t, ["cut"]);
  await new Gancho({ apiKey: key, url: between.url }).events.publish("a.b", 1, { idempotency_key: null });
  assert.equal((await collect(gancho.events.list())).length, 1);
});

test("a lost answer makes no second batch", async (t) => {
  const { gancho, key } = await makeTenant();
  const between = await proxy(t, ["cut", "hold"]);
  const client = new Gancho({ apiKey: key, url: between.url, timeout: 1000 });
  const outcome = await client.events.publishBatch(Array.from({ length: 10 }, (_, n) => ({ type: "a.b", data: n })));
  assert.equal(between.requests.length, 3);
  assert.equal(new Set(between.requests.map((request) => request.headers["idempotency-key"])).size, 1);
  const stored = new Set((await collect(gancho.events.list())).map((event) => event.id));
  assert.deepEqual(stored, new Set(outcome.results.map((result) => result.id)));
  assert.ok(outcome.results.every((result) => result.replayed));
});

test("an e-mail is sent once", async (t) => {
  const { gancho, key } = await makeTenant();
  const between = await proxy(t, ["cut"]);
  const client = new Gancho({ apiKey: key, url: between.url });
  const sent = await client.emails.send({ from: "a@example.com", to: "b@example.com", subject: "Hello", text: "Hi" });
  const emails = await collect(gancho.emails.list());
  assert.deepEqual([between.requests.length, emails.map((email) => email.outboxId)], [2, [sent.outboxId]]);
});

test("what is not safe to repeat is not repeated", async (t) => {
  const { gancho, key } = await makeTenant();
  const between = await proxy(t, ["cut"]);
  const client = new Gancho({ apiKey: key, url: between.url });
  await assert.rejects(client.webhooks.create({ url: "http://127.0.0.1:39999/", events: ["*"] }), APIConnectionError);
  assert.equal(between.requests.length, 1);
  assert.equal((await collect(gancho.webhooks.list())).length, 1);
});

test("a busy gateway is asked again when it says", async (t) => {
  const { key } = await makeTenant();
  const between = await proxy(t, [503]);
  between.retryAfter = "1";
  const begin = performance.now();
  await new Gancho({ apiKey: key, url: between.url }).events.publish("a.b", 1);
  const took = performance.now() - begin;
  assert.ok(between.requests.length === 2 && took >= 1000 && took < 5000, `${took} ms`);
});

test("a date to be asked again is kept, by the clock of the one who says it", async (t) => {
  const { key } = await makeTenant();
  const dates = { date: "Wed, 21 Oct 2015 07:28:00 GMT", "retry-after": "Wed, 21 Oct 2015 07:28:02 GMT" };
  const between = await proxy(t, [[429, "text/html", "<p>busy", dates]]);
  const begin = performance.now();
  await new Gancho({ apiKey: key, url: between.url }).events.publish("a.b", 1);
  const took = performance.now() - begin;
  assert.ok(between.requests.length === 2 && took >= 2000 && took < 6000, `${took} ms`);
});

test("when to go on", async (t) => {
  const between = await proxy(t);
  const client = new Gancho({ apiKey: "k", url: between.url, maxRetries: 0 });
  const cases = [["2", 2], ["0.5", 0.5], ["-1", 0], ["x", null], ["", null], ["Infinity", null]];
  for (const [given, seconds] of [...cases, ["Wed, 21 Oct 2015 07:28:00 GMT", 0]]) {
    between.script = [[429, "text/html", "<p>busy", { "retry-after": given }]];
    await assert.rejects(client.events.publish("a.b", 1), (error) => {
      assert.deepEqual([error.constructor, error.status, error.retryAfter], [RateLimitError, 429, seconds], given);
      return true;
    });
  }
});

test("a timeout without end", async () => {
  const { gancho } = await makeTenant();
  for (const limit of [Infinity, 3e9]) {
    assert.ok((await gancho.with({ timeout: limit, deadline: limit, maxRetries: 0 }).events.publish("a.b", 1)).id);
  }
});

test("retries end", async (t) => {
  const { key } = await makeTenant();
  const between = await proxy(t, Array(9).fill("cut"));
  const client = new Gancho({ apiKey: key, url: between.url, maxRetries: 2 });
  await assert.rejects(client.events.publish("a.b", 1), APIConnectionError);
  assert.equal(between.requests.length, 3);
});
