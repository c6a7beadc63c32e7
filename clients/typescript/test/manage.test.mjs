// Managing: webhooks, deliveries, replays, dead letters, sources, and lists of several pages.

import assert from "node:assert/strict";
import test from "node:test";
import { ConfigurationError, SignatureError, verify } from "@gancho/client";
import { Webhook } from "standardwebhooks";
import { collect, makeTenant, operator, receiver, waitFor } from "./servers.mjs";

test("a delivery verifies and another does not", async (t) => {
  const { gancho } = await makeTenant();
  const target = await receiver(t);
  const webhook = await gancho.webhooks.create({ url: target.url, events: ["invoice.*"] });
  await gancho.events.publish("invoice.paid", { name: "João", amount: 42 });
  const { headers, body } = await target.next();
  const event = verify(body, headers, webhook.secret);
  assert.deepEqual([event.type, event.data], ["invoice.paid", { name: "João", amount: 42 }]);
  assert.equal(event.id, headers["webhook-id"]);
  const other = (await gancho.webhooks.create({ url: target.url, events: ["x"] })).secret;
  assert.deepEqual(verify(body.toString(), new Headers(headers), [other, webhook.secret]), event);
  const old = { ...headers, "webhook-timestamp": String(Math.floor(Date.now() / 1000) - 400) };
  const without = { ...headers, "webhook-signature": undefined };
  for (const [text, given] of [[`${body} `, headers], [body, old], [body, without]]) {
    assert.throws(() => verify(text, given, webhook.secret), SignatureError);
  }
  assert.throws(() => verify(body, headers, other), SignatureError);
  assert.throws(() => verify(body, headers, ""), ConfigurationError);
});

test("a body without an envelope keeps the id of the header", async (t) => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  for (const body of ['{"id":"inv_1"}', "[1]", '"x"', "null"]) {
    const now = new Date();
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign("msg_1", now, body),
    };
    const event = verify(body, headers, secret);
    assert.deepEqual([event.id, event.payload], ["msg_1", JSON.parse(body)]);
    assert.throws(() => verify(body, headers, undefined), ConfigurationError);
  }
});

test("both secrets verify while one is replaced", async (t) => {
  const { gancho } = await makeTenant();
  const target = await receiver(t);
  const webhook = await gancho.webhooks.create({ url: target.url, events: ["*"] });
  const rotated = await gancho.webhooks.rotateSecret(webhook.id);
  await gancho.events.publish("a.b", 1);
  const { headers, body } = await target.next();
  assert.notEqual(rotated.secret, webhook.secret);
  for (const secret of [webhook.secret, rotated.secret]) assert.equal(verify(body, headers, secret).type, "a.b");
});

test("a webhook is changed and deleted", async () => {
  const { gancho } = await makeTenant();
  const url = "http://127.0.0.1:39999/";
  const webhook = await gancho.webhooks.create({ url, events: ["*"], timeout: "5s", name: "first", max_in_flight: 3 });
  const changed = await gancho.webhooks.update(webhook.id, { name: "second", max_in_flight: null });
  assert.deepEqual([changed.name, changed.max_in_flight, changed.timeout], ["second", null, "5s"]);
  await gancho.webhooks.pause(webhook.id);
  await gancho.webhooks.resume(webhook.id);
  assert.equal(await gancho.webhooks.delete(webhook.id), undefined);
  assert.deepEqual(await collect(gancho.webhooks.list()), []);
});

test("a failed delivery is retried and replayed", async (t) => {
  const { gancho } = await makeTenant();
  const target = await receiver(t);
  target.status = 500;
  const webhook = await gancho.webhooks.create({ url: target.url, events: ["*"], retry: { schedule: [] } });
  const published = await gancho.events.publish("a.b", { n: 1 });
  await target.next();
  const failed = await waitFor(async () => (await collect(gancho.deliveries.list({ status: "failed" })))[0]);
  const detail = await gancho.deliveries.get(failed.id);
  assert.deepEqual([detail.event_id, detail.attempt_log[0].response_status], [published.id, 500]);
  const [letter] = await collect(gancho.deadLetters.list());
  assert.deepEqual((await collect(gancho.deadLetters.export())).map((one) => one.id), [letter.id]);
  target.status = 204;
  await gancho.deadLetters.replay(letter.id);
  const { headers, body } = await target.next();
  assert.deepEqual(verify(body, headers, webhook.secret).data, { n: 1 });
  await waitFor(async () => (await collect(gancho.deliveries.list({ status: "delivered" })))[0]);
  const since = new Date(Date.now() - 3_600_000);
  const job = await gancho.replays.create({ filter: { webhook_id: webhook.id, since } });
  await target.next();
  await waitFor(async () => (await gancho.replays.get(job.id)).state === "done");
});

test("all pages are read, and an empty one is not the end", async (t) => {
  const { gancho } = await makeTenant();
  const target = await receiver(t);
  const ids = (await gancho.events.publishBatch(Array.from({ length: 130 }, (_, n) => ({ type: "a.b", data: n }))))
    .results.map((result) => result.id);
  assert.deepEqual(new Set((await collect(gancho.events.list({ limit: 25 }))).map((event) => event.id)), new Set(ids));
  const sizes = (await collect(gancho.events.list({ limit: 25 }).pages())).map((page) => page.data.length);
  assert.ok(sizes.length >= 6 && sizes.reduce((a, b) => a + b) === 130, `${sizes}`);
  await gancho.webhooks.create({ url: target.url, events: ["*"] });
  await gancho.events.publish("a.b", "needle");
  for (let n = 0; n < 5; n++) await gancho.events.publishBatch(Array(1000).fill({ type: "a.b", data: "hay" }));
  const list = gancho.deliveries.list({ text: "needle" });
  const first = await list.page();
  assert.deepEqual(first.data, []);
  assert.ok(first.next_cursor);
  assert.equal((await collect(list)).length, 1);
});

test("a live tail", async (t) => {
  const { gancho } = await makeTenant();
  const target = await receiver(t);
  await gancho.webhooks.create({ url: target.url, events: ["*"] });
  // The tail is open once its first change is here, so events are published until then.
  const timer = setInterval(() => gancho.events.publish("a.b", 1), 200);
  t.after(() => clearInterval(timer));
  for await (const change of gancho.deliveries.tail()) {
    assert.equal(change.event_type, "a.b");
    assert.ok(change.change && change.at);
    break;
  }
});

test("the operator manages", async () => {
  const { slug } = await makeTenant();
  assert.ok((await collect(operator.tenants.list())).some((tenant) => tenant.slug === slug));
  const name = `p-${slug}`;
  const source = await operator.sources.create({ partner: name, targets: ["http://127.0.0.1:39999/"] });
  assert.ok(source.dispatch_secret);
  await operator.sources.putKey(name, "k1", { scheme: "hmac", secret: "0123456789abcdef0123456789abcdef" });
  assert.deepEqual((await collect(operator.sources.listKeys(name))).map((key) => key.key_id), ["k1"]);
  await operator.sources.delete(name);
  const acting = operator.with({ tenant: slug });
  await acting.suppressions.add({ address: "no@example.com", reason: "manual" });
  assert.deepEqual((await collect(acting.suppressions.list())).map((entry) => entry.address), ["no@example.com"]);
  await acting.suppressions.remove("no@example.com");
  assert.ok((await operator.queues.list()).data.length > 0 && (await acting.usage.get()));
  assert.match((await operator.portalLinks.create({ tenant: slug })).url, /^http/);
  assert.ok(await operator.tenants.delete(slug));
});
