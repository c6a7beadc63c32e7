// What a person does with the dashboard, from the first login on. Fails on the first thing that is not as it should
// be: also on any script error, any dialog, anything that the content security policy had to block, and any serious
// finding of axe-core.

import assert from "node:assert/strict";

import { heading, sees, seesSoon, startBrowser } from "./browser.mjs";
import { startGateway, startReceiver, until } from "./gateway.mjs";

const [binary, pictures] = process.argv.slice(2);
const XSS = `"><img src=x onerror=alert(1)></textarea><script>alert(2)</script>{{7*7}}\u202e`;

const gateway = await startGateway(binary);
const receiver = await startReceiver();
const browser = await startBrowser(gateway, pictures);
const { open, step } = browser;

const desktop = await open({ viewport: { width: 1440, height: 1000 } });
const page = await desktop.newPage();
let key, endpoint;
const publish = (type, data) => gateway.call("POST", "/v1/events", key, { type, data });

try {
  await step("a wrong token is refused, the right one lets in", async () => {
    await page.goto("/");
    assert.match(page.url(), /\/ui\/login/);
    browser.expected = ["401", "403", "422"];
    await page.fill("#token", "no-token-at-all");
    await page.click("button.primary");
    await page.locator("[role=alert]").waitFor();
    browser.expected = [];
    await page.fill("#token", gateway.token);
    await page.click("button.primary");
    await page.waitForURL(/\/ui\/$/);
  });

  await step("a tenant, its key and an endpoint are created", async () => {
    await page.goto("/ui/tenants/new");
    await page.fill("[name=slug]", "acme");
    await page.fill("[name=name]", "Acme");
    await page.click("main button.primary");
    await sees(page, "Acme is created");
    const made = await gateway.call("POST", "/v1/tenants/acme/api-keys", gateway.token, { scopes: ["publish", "read", "manage"] });
    key = made.key;
    await page.goto("/ui/endpoints/new?tenant=acme");
    await page.fill("#url", receiver.url);
    await page.fill("input#events", "*");
    await page.fill("#name", "Billing sync");
    await page.click("main button.primary");
    await sees(page, /whsec_/);
    await page.goto("/ui/endpoints?tenant=acme");
    await page.click("text=Billing sync");
    endpoint = new URL(page.url()).pathname;
  });

  await step("an event arrives, and its page shows what was sent", async () => {
    await publish("invoice.paid", { id: "inv_1", note: XSS });
    await page.goto("/ui/deliveries?tenant=acme");
    await seesSoon(page, "Delivered");
    await page.click("text=invoice.paid");
    await sees(page, "webhook-signature");
    assert.ok((await page.locator("main").innerText()).includes("<img src=x onerror=alert(1)>"), "shown as text");
    assert.equal(receiver.requests.length, 1);
  });

  await step("a receiver that breaks is seen retrying, and healed by hand", async () => {
    receiver.status = 503;
    await publish("invoice.voided", { id: "inv_2" });
    await page.goto("/ui/deliveries?tenant=acme&status=retrying");
    await seesSoon(page, "503");
    await page.click("text=invoice.voided");
    await sees(page, "Why is it waiting?");
    receiver.status = 200;
    await page.click("text=Retry now");
    await seesSoon(page, "Delivered at attempt 2");
  });

  await step("deliveries come live, and change where they are", async () => {
    const row = (type) => page.locator("tbody tr", { hasText: type });
    const draft = { url: receiver.url, events: ["live.dead"], name: "Ledger copy", retry: { schedule: ["1s"] } };
    await gateway.call("POST", "/v1/webhooks", key, draft);
    await page.goto("/ui/deliveries");
    await page.mouse.move(0, 0);
    await page.locator("[data-live][data-state=live]").waitFor();
    await publish("live.good", { id: "inv_live" });
    await row("live.good").first().getByText("Delivered").waitFor();
    assert.match(await row("live.good").first().innerText(), /acme/, "all tenants are shown by name");
    receiver.status = 503;
    await publish("live.dead", {});
    await row("live.dead").filter({ hasText: "Ledger copy" }).getByText("Retrying").waitFor();
    await page.screenshot({ path: `${pictures}/live-light.png` });
    await row("live.dead").filter({ hasText: "Ledger copy" }).getByText("Dead letter").waitFor();
    receiver.status = 200;
    const before = await page.locator("tbody tr").count();
    await row("live.good").first().hover();
    await publish("live.held", {});
    await page.getByText("Show 1 new delivery").waitFor();
    assert.equal(await page.locator("tbody tr").count(), before, "nothing moves under the pointer");
    await page.screenshot({ path: `${pictures}/live-held.png` });
    await page.getByText("Show 1 new delivery").click();
    await row("live.held").waitFor();
    await page.keyboard.press("l");
    assert.equal(await page.locator("[data-live-switch]").getAttribute("aria-pressed"), "false");
    await publish("live.off", {});
    await until("it arrives", () => receiver.requests.some(({ body }) => body.includes("live.off")));
    assert.equal(await row("live.off").count(), 0);
    await page.keyboard.press("l");
    await row("live.off").or(page.locator("[data-held]:not([hidden])")).first().waitFor();
  });

  await step("what was given up is counted and replayed", async () => {
    receiver.status = 410;
    await publish("invoice.refunded", { id: "inv_3" });
    await page.goto("/ui/dead-letters?tenant=acme");
    await seesSoon(page, "TARGET_GONE");
    receiver.status = 200;
    await page.goto(`${endpoint}?tenant=acme`);
    await page.getByRole("button", { name: "Enable" }).click();
    await sees(page, "The endpoint is enabled");
    await page.goto("/ui/dead-letters?tenant=acme&code=TARGET_GONE");
    await page.locator("#replay button.primary").click();
    await page.locator("#replay p.count", { hasText: "1" }).waitFor();
    await page.locator("#replay button.primary").click();
    await page.waitForURL(/\/ui\/replays\/rpl_/);
    await until("it is delivered", () => receiver.requests.some(({ body }) => body.includes("inv_3")));
    await page.goto("/ui/deliveries?tenant=acme&status=delivered");
    await seesSoon(page, "invoice.refunded");
  });

  await step("a secret is rotated, and the old one still signs", async () => {
    await page.goto(`${endpoint}/rotate?tenant=acme`);
    await page.fill("#overlap", "1h");
    await page.click("main button.primary");
    await sees(page, "also signs until");
    await publish("invoice.paid", { id: "inv_4" });
    await until("it arrives", () => receiver.requests.some(({ body }) => body.includes("inv_4")));
    const { headers } = receiver.requests.find(({ body }) => body.includes("inv_4"));
    assert.equal(headers["webhook-signature"].split(" ").length, 2, "two signatures");
  });

  await step("a paused endpoint says so where things wait", async () => {
    await page.goto(`${endpoint}?tenant=acme`);
    await page.locator("summary", { hasText: "Pause" }).click();
    await page.getByLabel("Reason (optional)").fill("moving their servers");
    await page.getByRole("button", { name: "Pause" }).click();
    await sees(page, "The endpoint is paused");
    await sees(page, ": “moving their servers”");
    await publish("invoice.paid", { id: "inv_5" });
    await page.goto("/ui/deliveries?tenant=acme&status=pending");
    await seesSoon(page, /paused/i);
    await page.goto(`${endpoint}?tenant=acme`);
    await page.getByRole("button", { name: "Resume" }).click();
    await until("it arrives", () => receiver.requests.some(({ body }) => body.includes("inv_5")));
  });

  await step("a support user retries, sees no secret, and is in the audit log", async () => {
    await page.goto("/ui/users");
    await page.fill("#name", "sol@example.com");
    await page.selectOption("#role", "support");
    await page.fill("#password", "correct horse battery");
    await page.click("main button.primary");
    await sees(page, "sol@example.com was created");

    const context = await open({ viewport: { width: 1440, height: 1000 } });
    const support = await context.newPage();
    await support.goto("/ui/login");
    await support.fill("#name", "sol@example.com");
    await support.fill("#token", "correct horse battery");
    await support.screenshot({ path: `${pictures}/login-light.png`, fullPage: true });
    await support.click("button.primary");
    await support.waitForURL(/\/ui\/$/);
    await support.goto(`${endpoint}?tenant=acme`);
    for (const hidden of ["edit", "rotate", "reveal", "delete", "disable"]) {
      assert.equal(await support.locator(`main [href*='/${hidden}'], main [action*='/${hidden}']`).count(), 0, hidden);
    }
    assert.equal(await support.locator("nav [href*='/ui/users'], nav [href*='/ui/audit']").count(), 0);
    await support.screenshot({ path: `${pictures}/endpoint-support-light.png`, fullPage: true });
    browser.expected = ["403"];
    const refused = await support.goto(`${endpoint}/reveal?tenant=acme`);
    assert.equal(refused.status(), 403);
    assert.doesNotMatch(await support.content(), /whsec_/);
    await sees(support, "Your role does not allow this");
    await support.screenshot({ path: `${pictures}/role-refused-light.png`, fullPage: true });
    browser.expected = [];
    await support.goto("/ui/deliveries?tenant=acme&status=delivered");
    await support.click("text=invoice.refunded");
    const retried = new URL(support.url()).pathname.split("/").pop();
    await support.click("text=Retry now");
    await support.waitForLoadState();
    await context.close();

    await page.goto("/ui/users");
    await page.click("main >> text=sol@example.com");
    await page.click("text=Acts in the audit log");
    assert.match(page.url(), /actor=sol%40example.com/);
    await sees(page, "Retry a delivery");
    await page.click(`main >> text=${retried}`);
    assert.match(page.url(), new RegExp(`/ui/deliveries/${retried}`));
  });

  await step("keys find their way", async () => {
    await page.goto("/ui/deliveries?tenant=acme");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("type")), "search");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.locator("dialog#keys[open]").waitFor();
  });

  const delivery = await gateway.call("GET", "/v1/deliveries?limit=1", key);
  const event = await gateway.call("GET", "/v1/events?limit=1", key);
  const pages = [
    "/ui/", "/ui/?tenant=acme", "/ui/deliveries", "/ui/events", "/ui/endpoints", "/ui/deliveries?tenant=acme", `/ui/deliveries/${delivery.data[0].id}?tenant=acme`,
    "/ui/events?tenant=acme", `/ui/events/${event.data[0].id}?tenant=acme`, "/ui/event-types?tenant=acme",
    "/ui/endpoints?tenant=acme", `${endpoint}?tenant=acme`, "/ui/endpoints/new?tenant=acme", `${endpoint}/edit?tenant=acme`,
    "/ui/dead-letters", "/ui/replays?tenant=acme", "/ui/sources", "/ui/rejected-events", "/ui/tenants/new", "/ui/events?tenant=acme&since=2026-01-01T00:00:00Z", "/ui/ledger", "/ui/emails?tenant=acme",
    "/ui/suppressions?tenant=acme", "/ui/captured", "/ui/tenants", "/ui/tenants/acme?tenant=acme", "/ui/queues",
    "/ui/search?q=inv_1", "/ui/users", "/ui/users/sol@example.com", "/ui/audit", "/ui/audit?since=2020-01-01T00:00:00Z&outcome=done", "/ui/password",
  ];
  const cookies = await desktop.storageState();
  const looks = [
    ["light", { viewport: { width: 1440, height: 1000 }, colorScheme: "light" }],
    ["dark", { viewport: { width: 1440, height: 1000 }, colorScheme: "dark" }],
    ["narrow", { viewport: { width: 360, height: 800 }, colorScheme: "light" }],
  ];
  for (const [look, options] of looks) {
    await step(`every page is sound, ${look}`, async () => {
      const context = await open({ storageState: cookies, ...options });
      const page = await context.newPage();
      for (const path of pages) {
        const name = path.replace(/^\/ui\//, "").replace(/\?.*$/, "").replaceAll("/", "-").replace(/_[0-9A-Z]{26}/, "");
        await browser.check(page, path, look, name || "overview");
      }
      await context.close();
    });
  }

  await step("pages read and forms work without JavaScript", async () => {
    const context = await open({ storageState: cookies, javaScriptEnabled: false });
    const page = await context.newPage();
    for (const path of pages) {
      await page.goto(path);
      assert.notEqual(await heading(page), "", path);
    }
    await page.goto("/ui/deliveries?tenant=acme");
    await page.click("text=invoice.voided");
    assert.match(await page.locator("main").innerText(), /Delivered at attempt 2/);
    await page.goto("/ui/queues");
    await page.locator("details:has(form[action*='/email/pause']) > summary").click();
    await page.locator("form[action*='/email/pause'] button").click();
    assert.match(await page.locator("main").innerText(), /is paused/);
    await page.locator("form[action*='/email/resume'] button").click();
    assert.match(await page.locator("main").innerText(), /is running again/);
    await context.close();
  });

  await step("signing out ends the session", async () => {
    await page.goto("/ui/queues");
    await page.locator("details.menu summary", { hasText: "operator" }).click();
    await page.locator("form[action*='/logout'] button").click();
    await page.goto("/ui/queues");
    assert.match(page.url(), /\/ui\/login/);
  });
} finally {
  await browser.close();
  receiver.stop();
  await gateway.stop();
}
