// What is too long, what is repeated and what ends in the middle: names that fill a line, a page that is loaded again,
// a session that is over, an endpoint that is slow, a browser without scripts.

import assert from "node:assert/strict";
import { createServer } from "node:http";

import { sees, seesSoon, startBrowser } from "./browser.mjs";
import { startGateway, startReceiver, until } from "./gateway.mjs";

const [binary, pictures] = process.argv.slice(2);
const gateway = await startGateway(binary);
const [receiver, broken] = [await startReceiver(), await startReceiver()];
broken.status = 500;
const slow = createServer((request, response) => setTimeout(() => response.end("ok"), 4_000));
await new Promise((ready) => slow.listen(0, "127.0.0.1", ready));
const browser = await startBrowser(gateway, pictures);
const { check, open, step } = browser;
const desktop = await open({ viewport: { width: 1440, height: 1000 } });
const page = await desktop.newPage();
const call = (method, path, body, tenant) => gateway.call(method, path, tenant ?? gateway.token, body);
const LONG = "Verylongname".repeat(10);
const NAMES = [LONG, "متجر الكتب العربي للبيع بالجملة", "Loja 🪝🪝🪝 São José", "a".repeat(128)];
let key;

async function logIn(on) {
  await on.fill("#token", gateway.token);
  await on.click("button.primary");
}

try {
  await step("the stage is set", async () => {
    await page.goto("/ui/login");
    await logIn(page);
    await page.waitForURL(/\/ui\/$/);
    for (const [number, name] of NAMES.entries()) await call("POST", "/v1/tenants", { slug: `odd-${number}`, name });
    for (let number = 0; number < 30; number += 1) {
      await call("POST", "/v1/tenants", { slug: `tenant-${String(number).padStart(2, "0")}`, name: `Tenant ${number}` });
    }
    key = (await call("POST", "/v1/tenants/odd-0/api-keys", {})).key;
    const endpoints = [
      [LONG, receiver.url, "order.*"],
      [NAMES[1], `${broken.url}/${"long-path/".repeat(30)}`, "order.failed"],
      [NAMES[2], `http://127.0.0.1:${slow.address().port}/`, "order.slow"],
    ];
    for (const [name, url, event] of endpoints) {
      await call("POST", "/v1/webhooks", { name, url, events: [event], retry: { schedule: [] } }, key);
    }
    for (let number = 0; number < 24; number += 1) {
      const type = number % 6 === 5 ? "order.failed" : "order.created";
      await call("POST", "/v1/events", { type, data: { number }, subject: `order-${number}`, external_id: `${LONG}-${number}` }, key);
    }
    await call("POST", "/v1/events", { type: "order.slow", data: {} }, key);
    const html = "<body style='font-family:sans-serif'><h1 style='color:#2347b8'>Olá, Ana</h1><p>Your invoice is <b>paid</b>.</p><script>document.body.innerHTML='ran'</script><img src='https://example.com/x.png'></body>";
    await call("POST", "/v1/email/send", { from: "shop@example.com", to: "ana@example.com", subject: `Invoice ${LONG}`, text: "Olá, Ana", html }, key);
    await until("all but the slow one have ended", async () => {
      const { data } = await call("GET", "/v1/deliveries?limit=100", undefined, key);
      return data.length >= 28 && data.filter(({ status }) => !["delivered", "failed"].includes(status)).length <= 1;
    });
  });

  await step("an endpoint that takes its time is slow, not failing", async () => {
    for (let time = 0; time < 2; time += 1) {
      await page.goto(`/ui/endpoints?q=${encodeURIComponent("Loja")}`);
      const state = await page.locator("tbody .status").first().innerText();
      assert.doesNotMatch(state, /fail/i);
      if (time > 0) assert.match(state, /slow/i);
      await call("POST", "/v1/events", { type: "order.slow", data: {} }, key);
      await page.waitForTimeout(4_600);
    }
  });

  await step("a test of a slow endpoint says that it waits", async () => {
    await page.goto(`/ui/endpoints?q=${encodeURIComponent("Loja")}`);
    await page.click("tbody a.row");
    await page.waitForURL(/\/ui\/endpoints\/wh_/);
    // While the form is being sent, nothing can be looked up in the page: it notes itself what it shows.
    await page.evaluate(() => {
      const note = document.querySelector("[data-busy-note]");
      const seen = () => sessionStorage.setItem("waited", note.hidden ? "" : note.textContent);
      new MutationObserver(seen).observe(note, { attributes: true });
    });
    await page.click("#test button.primary");
    await page.waitForURL(/test=dlv_/);
    assert.match(await page.evaluate(() => sessionStorage.getItem("waited")), /^Waiting for the endpoint to respond/);
    assert.equal(await page.getByText("Waiting for the endpoint to respond").isVisible(), false);
  });

  await step("rows are ticked all at once, and a closed peek gives the focus back to its row", async () => {
    await page.goto("/ui/deliveries?status=failed&tenant=odd-0");
    await page.locator("[data-select-all]").check();
    const boxes = page.locator(".pick input[name=id]");
    assert.equal(await boxes.count(), await page.locator(".pick input[name=id]:checked").count());
    assert.ok((await boxes.count()) > 1);
    await page.locator("[data-select-all]").uncheck();
    await boxes.nth(1).check();
    broken.status = 200;
    await page.click("#selection button");
    await sees(page, "1 delivery is due now.");
    broken.status = 500;
    await page.goto("/ui/deliveries?tenant=odd-0&status=delivered");
    const row = page.locator("a.row").nth(2);
    const id = await row.getAttribute("id");
    await row.focus();
    await page.keyboard.press("Space");
    await page.waitForURL(/peek=/);
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => !url.searchParams.has("peek"));
    assert.equal(await page.evaluate(() => document.activeElement?.id), id);
  });

  await step("a key and an endpoint are made once, however often the page is loaded", async () => {
    await page.goto("/ui/tenants/odd-2?tenant=odd-2");
    await page.click("text=Create an API key >> nth=-1");
    const shown = await page.locator("#new-key").innerText();
    await page.reload();
    assert.equal(await page.locator("#new-key").count(), 0);
    assert.ok(!(await page.content()).includes(shown));
    const { data } = await call("GET", "/v1/tenants/odd-2/api-keys");
    assert.equal(data.length, 1);
    await page.goto("/ui/endpoints/new?tenant=odd-2");
    await page.fill("#url", receiver.url);
    await page.fill("#events", "*");
    await page.click("main button.primary");
    await sees(page, /whsec_/);
    await page.reload();
    await sees(page, "It was shown once");
    assert.doesNotMatch(await page.content(), /whsec_/);
    await page.goBack();
    await page.goForward();
    assert.doesNotMatch(await page.content(), /whsec_/);
  });

  await step("a session that ends in the middle of a form loses nothing", async () => {
    const own = await open();
    const other = await own.newPage();
    await other.goto("/ui/login");
    await logIn(other);
    await other.goto("/ui/endpoints/new?tenant=odd-2");
    await other.fill("#url", "https://example.com/kept");
    await other.fill("#events", "kept.event");
    const cookies = await own.cookies();
    const twin = await own.newPage();
    await twin.goto("/ui/queues");
    await twin.evaluate(() => document.querySelector('form[action="/ui/logout"]').submit());
    await twin.waitForURL(/\/ui\/login/);
    await own.addCookies(cookies);
    await other.click("main button.primary");
    await sees(other, "Your session ended before the form was sent");
    await other.screenshot({ path: `${pictures}/login-ended-light.png` });
    await logIn(other);
    await sees(other, "What you typed is still here");
    assert.equal(await other.locator("#url").inputValue(), "https://example.com/kept");
    assert.equal(await other.locator("#events").inputValue(), "kept.event");
    await other.screenshot({ path: `${pictures}/form-kept-light.png` });
    await own.close();
  });

  await step("a tenant is found from the menu", async () => {
    await page.goto("/ui/deliveries");
    await page.click(".scope summary");
    await page.screenshot({ path: `${pictures}/tenant-menu-light.png` });
    await page.fill("#tq", "tenant 27");
    await page.keyboard.press("Enter");
    await page.click("text=Tenant 27");
    await page.waitForURL(/\/ui\/deliveries\?tenant=tenant-27/);
  });

  await step("an e-mail is shown without running anything", async () => {
    await page.goto("/ui/captured");
    await seesSoon(page, "ana@example.com");
    await page.click("tbody a.row");
    // What its policy blocks is told in the console.
    browser.expected = ["Content Security Policy", "sandboxed"];
    const frame = page.frameLocator("iframe.mail-frame");
    await frame.getByRole("heading", { name: "Olá, Ana" }).waitFor();
    assert.equal(await frame.getByText("ran", { exact: true }).count(), 0);
  });

  const peek = new URL(page.url());
  const id = (await call("GET", "/v1/deliveries?status=failed&limit=1", undefined, key)).data[0].id;
  const replay = await call("POST", "/v1/dlq/replay", { code: "HTTP_500" });
  const paths = {
    "odd-overview": "/ui/",
    "odd-deliveries": "/ui/deliveries",
    "odd-deliveries-failed": "/ui/deliveries?status=failed&tenant=odd-0",
    "odd-delivery": `/ui/deliveries/${id}?tenant=odd-0`,
    "odd-endpoints": "/ui/endpoints",
    "odd-tenants": "/ui/tenants",
    "odd-tenant": "/ui/tenants/odd-0?tenant=odd-0",
    "odd-events": "/ui/events",
    "odd-dead-letters": "/ui/dead-letters",
    "odd-replay": `/ui/replays/${replay.id}`,
    "odd-queues": "/ui/queues",
    "odd-alerts": "/ui/alerts",
    "odd-audit": "/ui/audit",
    "odd-captured": `${peek.pathname}${peek.search}`,
  };
  for (const [look, options] of [
    ["light", { viewport: { width: 1440, height: 1000 }, colorScheme: "light" }],
    ["dark", { viewport: { width: 1440, height: 1000 }, colorScheme: "dark" }],
    ["narrow", { viewport: { width: 360, height: 780 }, colorScheme: "light" }],
  ]) {
    await step(`long and odd names fit (${look})`, async () => {
      const context = await open({ ...options, storageState: await desktop.storageState() });
      const view = await context.newPage();
      for (const [picture, path] of Object.entries(paths)) {
        await check(view, path, look, picture);
        const cut = await view.evaluate(() => {
          const out = (el) => el.getBoundingClientRect().right > innerWidth + 1 && !el.closest(".scroll, .code, .tabs, pre, .clip");
          return [...document.querySelectorAll("main .status, main .badge, main h1, main .panel, .topbar > *")].filter(out).map((el) => el.outerHTML.slice(0, 120));
        });
        assert.deepEqual(cut, [], `${path}, ${look}`);
      }
      await context.close();
    });
  }

  await step("a wrong filter is marked where it is", async () => {
    browser.expected = ["422"];
    await page.goto("/ui/deliveries?since=yesterday&tenant=odd-0");
    await page.locator(".chip.wrong em").waitFor();
    await page.screenshot({ path: `${pictures}/wrong-filter-light.png` });
    await page.click(".chip.wrong a");
    await page.waitForURL((url) => !url.searchParams.has("since"));
    browser.expected = [];
  });

  await step("without scripts nothing is shown that needs them", async () => {
    const plain = await open({ javaScriptEnabled: false, storageState: await desktop.storageState() });
    const view = await plain.newPage();
    for (const path of [`/ui/deliveries/${id}?tenant=odd-0`, "/ui/tenants/odd-0?tenant=odd-0"]) {
      await view.goto(path);
      for (const button of await view.locator("[data-copy], [data-copy-from], [data-theme-switch]").all()) {
        assert.equal(await button.isVisible(), false, path);
      }
    }
    await plain.close();
  });
} finally {
  await browser.close();
  await gateway.stop();
  receiver.stop();
  broken.stop();
  slow.close();
}
