// What an operator sets up, looks for and puts right in the dashboard: sources and their keys, event types, a search, a
// rejected signature, dead letters that go elsewhere.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";

import { heading, sees, seesSoon, startBrowser } from "./browser.mjs";
import { freePort, startGateway, startReceiver, until } from "./gateway.mjs";

const [binary, pictures] = process.argv.slice(2);
const ingest = `127.0.0.1:${await freePort()}`;
const gateway = await startGateway(binary, { GANCHO_INGEST_LISTEN: ingest });
const receiver = await startReceiver();
const browser = await startBrowser(gateway, pictures);
const { open, step } = browser;
const desktop = await open({ viewport: { width: 1440, height: 1000 } });
const page = await desktop.newPage();
const submit = () => page.click("main button.primary");
let key, receipt, delivery;
const publish = (type, data, external_id) => gateway.call("POST", "/v1/events", key, { type, data, external_id });

try {
  await step("the stage is set", async () => {
    await page.goto("/ui/login");
    await page.fill("#token", gateway.token);
    await page.click("button.primary");
    await page.waitForURL(/\/ui\/$/);
    await gateway.call("POST", "/v1/tenants", gateway.token, { slug: "acme", name: "Acme" });
    key = (await gateway.call("POST", "/v1/tenants/acme/api-keys", gateway.token, {})).key;
    const endpoint = { url: receiver.url, events: ["invoice.*"], name: "Billing sync", retry: { schedule: [] } };
    await gateway.call("POST", "/v1/webhooks", key, endpoint);
    await gateway.call("POST", "/v1/webhooks", key, { url: `${receiver.url}2`, events: ["nothing.yet"], name: "Spare" });
  });

  await step("a source is created, gets a key, and receives", async () => {
    await page.goto("/ui/sources/new");
    await page.fill("#partner", "Not A Name");
    browser.expected = ["422"];
    await submit();
    await page.locator("[role=alert]").waitFor();
    browser.expected = [];
    await page.fill("#partner", "acme-pay");
    await page.fill("#targets", receiver.url);
    await page.fill("#event_id_pointer", "/id");
    await submit();
    await sees(page, "The source is created");
    await page.click("text=Add a key");
    await page.fill("#key_id", "2026-11");
    await page.fill("#secret", "a shared secret of some length");
    await submit();
    await sees(page, "The key 2026-11 is saved");
    assert.doesNotMatch(await page.content(), /a shared secret/);
    const body = JSON.stringify({ id: "evt-1", amount: "9.90" });
    const time = Math.floor(Date.now() / 1000).toString();
    const signature = createHmac("sha256", "a shared secret of some length").update(`${time}.${body}`).digest("base64");
    const headers = { "content-type": "application/json", "x-timestamp": time, "x-key-id": "2026-11", "x-signature": `hmac-sha256=${signature}` };
    const answer = await fetch(`http://${ingest}/webhooks/acme-pay`, { method: "POST", headers, body });
    assert.equal(answer.status, 204, await answer.text());
    await page.goto("/ui/sources/acme-pay");
    await seesSoon(page, "evt-1");
    await page.locator("main details.menu summary").first().click();
    await page.click("text=Replace by a new key");
    assert.equal(await page.locator("#replaces").inputValue(), "2026-11");
    await page.fill("#key_id", "2026-12");
    await page.fill("#secret", "another shared secret of length");
    await page.fill("#overlap", "1h");
    await submit();
    await sees(page, "The key 2026-12 is saved");
    await page.getByRole("link", { name: "Edit" }).click();
    assert.equal(await page.locator("#event_id_pointer").inputValue(), "/id");
    await page.fill("#rate_count", "20");
    await submit();
    await sees(page, "The source is saved");
    await page.getByRole("button", { name: "Disable" }).click();
    await sees(page, "The source is off");
    await page.getByRole("button", { name: "Enable" }).click();
    await sees(page, "The source is active");
  });

  await step("a receipt is proved", async () => {
    await page.goto("/ui/ledger");
    await submit();
    await page.goto("/ui/sources/acme-pay");
    await sees(page, /Checked and signed up to line 1/);
    await page.click("text=evt-1");
    receipt = new URL(page.url()).pathname;
    const proof = await page.request.get(`${receipt}/proof`);
    assert.equal(proof.status(), 200);
    assert.match(proof.headers()["content-disposition"], /proof\.json/);
    const { form, line } = await proof.json();
    assert.equal(form, "gancho-ledger-proof/1");
    assert.equal(line.number, 1);
  });

  await step("an event type is created with its schema, and edited", async () => {
    await page.goto("/ui/event-types/new?tenant=acme");
    await page.fill("#name", "invoice.paid");
    await page.fill("#description", "A customer paid");
    await page.fill("#example", '{"id": "inv_1", "rate": 1.50}');
    await page.fill("#schema", "{oops");
    browser.expected = ["422"];
    await submit();
    await page.locator("#schema-error").waitFor();
    browser.expected = [];
    await page.fill("#schema", '{"type": "object", "required": ["id"]}');
    await submit();
    await sees(page, "invoice.paid is saved");
    assert.match(await page.locator("aside").innerText(), /1\.50/, "an example is kept as it was typed");
    await page.locator("aside").getByRole("link", { name: "Edit" }).click();
    await page.fill("#description", "A customer has paid");
    await submit();
    await sees(page, "A customer has paid");
    await assert.rejects(publish("invoice.paid", { nothing: true }), /422/);
  });

  await step("a delivery is found by a text, an external id and a type", async () => {
    await publish("invoice.paid", { id: "inv_77", note: "Rua das Flores" }, "order-77");
    await until("it arrives", () => receiver.requests.some(({ body }) => body.includes("inv_77")));
    await page.goto("/ui/deliveries?tenant=acme");
    await page.locator(".histogram svg").waitFor();
    for (const [word, parameter] of [["Flores", "text"], ["order-77", "external"], ["invoice.paid", "type"]]) {
      await page.goto("/ui/deliveries?tenant=acme");
      await page.fill("#f", word);
      await page.keyboard.press("Enter");
      await page.waitForURL(new RegExp(`${parameter}=`));
      await sees(page, "invoice.paid");
    }
    await page.goto("/ui/deliveries?external=order-77");
    assert.match(page.url(), /external=order-77&tenant=acme/);
    await sees(page, "invoice.paid");
    await page.goto("/ui/deliveries?text=nowhere-at-all");
    await sees(page, "No delivery matches");
  });

  await step("a signature is checked without the secret", async () => {
    const { headers, body } = receiver.requests.find(({ body }) => body.includes("inv_77"));
    const found = await gateway.call("GET", "/v1/deliveries?text=inv_77", key);
    delivery = `/ui/deliveries/${found.data[0].id}?tenant=acme`;
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n");
    await page.goto(delivery);
    await page.click("text=Check a signature");
    await page.fill("#sig-headers", lines);
    await page.fill("#sig-body", body);
    await page.click("#signature button.primary");
    await sees(page, "The signature is valid for what was received");
    await page.fill("#sig-body", JSON.stringify(JSON.parse(body), null, 2));
    await page.click("#signature button.primary");
    await sees(page, "The body is not the one that was sent");
    await sees(page, /the same JSON, written differently/);
    await page.screenshot({ path: `${pictures}/signature-light.png`, fullPage: true });
  });

  await step("two attempts are compared", async () => {
    await page.goto(delivery);
    for (const status of [500, 503]) {
      receiver.status = status;
      const before = receiver.requests.length;
      await page.getByRole("button", { name: "Retry now" }).click();
      await until("it is tried", () => receiver.requests.length > before);
    }
    receiver.status = 200;
    await page.goto(`${delivery}&attempt=3&compare=1`);
    await seesSoon(page, "Compared with");
    await sees(page, ":status: 503");
    await sees(page, ":status: 200");
  });

  await step("dead letters are exported, redirected and deleted", async () => {
    receiver.status = 500;
    for (const id of ["inv_a", "inv_b", "inv_c"]) await publish("invoice.paid", { id });
    await page.goto("/ui/dead-letters?tenant=acme&code=HTTP_500");
    await until("three are given up", async () => {
      await page.reload();
      return (await page.locator("tbody .pick input").count()) === 3;
    });
    receiver.status = 200;
    const exported = await page.request.get("/ui/dead-letters/export?tenant=acme&code=HTTP_500");
    assert.equal((await exported.text()).trim().split("\n").length, 3);
    assert.match(exported.headers()["content-disposition"], /dead-letters\.ndjson/);
    await page.locator("tbody .pick input").first().check();
    await page.selectOption("#sel-to", { label: "Spare" });
    await page.screenshot({ path: `${pictures}/dead-letters-selected-light.png`, fullPage: true });
    await page.locator(".selection button").first().click();
    await sees(page, "1 delivery is sent again");
    await page.goto("/ui/dead-letters?tenant=acme&code=HTTP_500");
    await page.selectOption("#to", { label: "Spare" });
    await page.locator("#replay button.primary").click();
    await sees(page, "They go to Spare instead of their own endpoint");
    await page.screenshot({ path: `${pictures}/dead-letters-redirect-light.png`, fullPage: true });
    await page.locator("#replay button.primary").click();
    await page.waitForURL(/\/ui\/replays\/rpl_/);
    await until("all went there", async () => (await gateway.call("GET", "/v1/dlq/stats", key)).by_code.HTTP_500 === undefined);
    receiver.status = 500;
    await publish("invoice.paid", { id: "inv_d" });
    await page.goto("/ui/dead-letters?tenant=acme&code=HTTP_500");
    await until("it is given up", async () => {
      await page.reload();
      return (await page.locator("tbody .pick input").count()) === 1;
    });
    receiver.status = 200;
    await page.locator(".page-head button.danger").click();
    await sees(page, "Delete 1 dead letter?");
    await page.screenshot({ path: `${pictures}/dead-letters-purge-light.png`, fullPage: true });
    browser.expected = ["422"];
    await page.fill("#confirm", "2");
    await page.click("main button.danger");
    await sees(page, "This is not the number");
    browser.expected = [];
    await page.fill("#confirm", "1");
    await page.click("main button.danger");
    await sees(page, "1 dead letter is deleted");
  });

  await step("e-mails and suppressed addresses of all tenants are listed", async () => {
    const email = { to: "ana@example.com", from: "shop@example.com", subject: "Your invoice", text: "Thank you" };
    await gateway.call("POST", "/v1/email/send", key, email);
    await gateway.call("POST", "/v1/suppressions", key, { address: "gone@example.com" });
    await page.goto("/ui/emails");
    await seesSoon(page, "Your invoice");
    await page.goto("/ui/suppressions");
    await sees(page, "gone@example.com");
    await page.click("main button.small");
    await sees(page, "gone@example.com");
    await page.goto("/ui/suppressions");
    assert.doesNotMatch(await page.locator("main").innerText(), /gone@example\.com/);
  });

  await step("an address that takes a form says so", async () => {
    browser.expected = ["405"];
    const answer = await page.goto("/ui/queues/email/pause");
    assert.equal(answer.status(), 405);
    await sees(page, "This address is not a page");
    browser.expected = [];
  });

  const pages = [
    "/ui/tenants/acme/delete?tenant=acme",
    "/ui/nodes", "/ui/sources", "/ui/sources/new", "/ui/sources/acme-pay", "/ui/sources/acme-pay/edit", "/ui/sources/acme-pay/delete", "/ui/sources/acme-pay?status=dlq", "/ui/sources/acme-pay/keys/new",
    receipt, "/ui/event-types?tenant=acme&type=invoice.paid", "/ui/event-types/new", "/ui/event-types/invoice.paid/edit?tenant=acme",
    "/ui/deliveries?range=7d", "/ui/deliveries?tenant=acme&text=inv", `${delivery}&attempt=3`, "/ui/emails", "/ui/suppressions",
    "/ui/search?q=invoice.paid", "/ui/dead-letters?tenant=acme", "/ui/replays", "/ui/replays?tenant=acme", "/ui/alerts",
  ];
  const cookies = await desktop.storageState();
  const looks = [
    ["light", { viewport: { width: 1440, height: 1000 }, colorScheme: "light" }],
    ["dark", { viewport: { width: 1440, height: 1000 }, colorScheme: "dark" }],
    ["narrow", { viewport: { width: 360, height: 800 }, colorScheme: "light" }],
    ["narrow-pt", { viewport: { width: 360, height: 800 }, colorScheme: "light", locale: "pt-BR" }],
    ["narrowest", { viewport: { width: 320, height: 800 }, colorScheme: "light" }],
  ];
  for (const [look, options] of looks) {
    await step(`every page of it is sound, ${look}`, async () => {
      const context = await open({ storageState: cookies, ...options });
      const page = await context.newPage();
      for (const path of pages) {
        const name = path.replace(/^\/ui\//, "").replace(/_[0-9A-Z]{26}/, "").replace(/[^\w.]+/g, "-");
        await browser.check(page, path, look, `manage-${name}`);
      }
      await context.close();
    });
  }

  await step("it reads without JavaScript", async () => {
    const context = await open({ storageState: cookies, javaScriptEnabled: false });
    const page = await context.newPage();
    for (const path of pages) {
      await page.goto(path);
      assert.notEqual(await heading(page), "", path);
    }
    await context.close();
  });
} finally {
  await browser.close();
  receiver.stop();
  await gateway.stop();
}
