// A tour of the official `svix` client for Node.js, of version 1 or 2. usage: tour.mjs URL TOKEN TENANT_KEY
import assert from "node:assert/strict";
import http from "node:http";
import { ApiException, Svix, Webhook } from "svix";

const [url, token, tenantKey] = process.argv.slice(2);
const svix = new Svix(token, { serverUrl: url });

// What version 2 has renamed.
const isFirst = !("upsert" in svix.application);
const eventTypes = isFirst ? "filterTypes" : "eventTypes";

const arrived = [];
let wake = () => {};
const receiver = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    arrived.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
    response.writeHead(204).end();
    wake();
  });
});
await new Promise((ready) => receiver.listen(0, "127.0.0.1", ready));
const hook = `http://127.0.0.1:${receiver.address().port}/hook`;

async function take() {
  const late = AbortSignal.timeout(30000);
  while (arrived.length === 0) {
    await new Promise((resolve, reject) => {
      wake = resolve;
      late.addEventListener("abort", () => reject(new Error("nothing arrived")));
    });
  }
  return arrived.shift();
}

async function refused(code, run) {
  await assert.rejects(run, (error) => {
    assert.ok(error instanceof ApiException, String(error));
    assert.equal(error.code, code, JSON.stringify(error.body));
    return true;
  });
}

await svix.health.get();
const app = await svix.application.create({ name: "Node", uid: "node-app", metadata: { a: "b" } });
assert.equal((await svix.application.get("node-app")).id, app.id);
assert.deepEqual((await svix.application.patch("node-app", { name: "Node 2" })).metadata, { a: "b" });
await refused(409, () => svix.application.create({ name: "x", uid: "node-app" }));
await refused(404, () => svix.application.get("nobody"));
await refused(422, () => svix.application.create({ name: "x", uid: "a/b" }));

await svix.eventType.create({ name: "node.event", description: "E", schemas: { 1: { type: "object", examples: [{ n: 5 }] } } });
assert.equal((await svix.eventType.get("node.event")).description, "E");
assert.ok((await svix.eventType.list()).data.some((one) => one.name === "node.event"));

const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const endpoint = await svix.endpoint.create("node-app", { url: hook, uid: "ep", secret, description: "D", [eventTypes]: ["node.event"], metadata: { m: "1" } });
assert.equal((await svix.endpoint.getSecret("node-app", "ep")).key, secret);
assert.deepEqual(endpoint[eventTypes], ["node.event"]);
assert.ok(endpoint.createdAt instanceof Date && endpoint.createdAt.getTime() > 0);
await svix.endpoint[isFirst ? "updateHeaders" : "setHeaders"]("node-app", "ep", { headers: { "X-A": "1" } });
assert.deepEqual((await svix.endpoint.getHeaders("node-app", "ep")).sensitive, ["X-A"]);
assert.equal((await svix.endpoint.patch("node-app", "ep", { description: "E" })).description, "E");
assert.equal((await svix.endpoint.list("node-app")).data.length, 1);

const message = { eventType: "node.event", payload: { n: 1, text: "ü" } };
const sent = await svix.message.create("node-app", message, { idempotencyKey: "once" });
const again = await svix.message.create("node-app", message, { idempotencyKey: "once" });
assert.equal(sent.id, again.id);
const { headers, body } = await take();
assert.equal(headers["svix-id"], sent.id);
assert.equal(headers["x-a"], "1");
new Webhook(secret).verify(body, headers);
assert.deepEqual(JSON.parse(body), { n: 1, text: "ü" });
assert.throws(() => new Webhook("whsec_" + "A".repeat(32)).verify(body, headers));
assert.equal(arrived.length, 0);
assert.equal((await svix.message.get("node-app", sent.id)).eventType, "node.event");
assert.equal((await svix.message.list("node-app")).data[0].id, sent.id);
await refused(422, () => svix.message.create("node-app", { eventType: "node.event", payload: {}, tags: ["t"] }));

let attempts = [];
for (let tries = 0; tries < 100 && attempts.length === 0; tries++) {
  attempts = (await svix.messageAttempt.listByMsg("node-app", sent.id)).data;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
assert.equal(attempts[0].responseStatusCode, 204);
assert.equal((await svix.messageAttempt.listByEndpoint("node-app", "ep")).data[0].id, attempts[0].id);
assert.equal((await svix.messageAttempt.get("node-app", sent.id, attempts[0].id)).msgId, sent.id);
await svix.messageAttempt.resend("node-app", sent.id, endpoint.id);
assert.equal((await take()).headers["svix-id"], sent.id);

const task = await svix.endpoint.recover("node-app", "ep", { since: new Date(Date.now() - 60000) });
assert.equal(task.task, "endpoint.recover");
assert.equal((await svix.backgroundTask.get(task.id)).id, task.id);
await svix.endpoint.rotateSecret("node-app", "ep", {});
assert.notEqual((await svix.endpoint.getSecret("node-app", "ep")).key, secret);
assert.ok((await svix.authentication.appPortalAccess("node-app", {})).url.includes("/portal/"));

await refused(401, () => new Svix("wrong", { serverUrl: url }).application.list());
await refused(404, () => new Svix(tenantKey, { serverUrl: url }).endpoint.list("node-app"));
await refused(501, () => (isFirst ? svix.operationalWebhookEndpoint : svix.operationalWebhook.endpoint).list());
await svix.endpoint.delete("node-app", "ep");
await refused(404, () => svix.endpoint.get("node-app", "ep"));
console.log(`svix ${isFirst ? 1 : 2} for Node.js passed the tour`);
receiver.close();
