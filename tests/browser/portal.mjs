// What people of a tenant do in the portal: in a window of their own, and embedded in the site of the operator. Fails
// like the test of the dashboard.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { sees, seesSoon, startBrowser } from "./browser.mjs";
import { startGateway, startReceiver, until } from "./gateway.mjs";

const [binary, pictures] = process.argv.slice(2);
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 92 28"><circle cx="14" cy="14" r="10" fill="#1b9a7e"/>
<path d="M14 8v7l4 3" fill="none" stroke="#fff" stroke-width="3"/><text x="30" y="20" font-family="sans-serif" font-size="18" font-weight="700" fill="#1b9a7e">Lumen</text></svg>`;

/** A site that has the portal in a frame. */
async function startSite() {
  const site = { frame: "" };
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<!doctype html><title>A shop</title><h1>Our shop</h1><iframe title="Webhooks" src="${site.frame}" width="1000" height="700"></iframe>
<script>addEventListener("message", ({ data, origin }) => { if (data?.type === "gancho:height") window.told = { px: data.px, origin }; });</script>`);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  site.url = `http://127.0.0.1:${server.address().port}`;
  site.stop = () => server.close();
  return site;
}

const [ours, foreign] = [await startSite(), await startSite()];
const folder = await mkdtemp(join(tmpdir(), "gancho-portal-"));
await writeFile(join(folder, "logo.svg"), LOGO);
const gateway = await startGateway(binary, {
  GANCHO_PORTAL_NAME: "Lumen",
  GANCHO_PORTAL_COLOR: "#0b6b57",
  GANCHO_PORTAL_LOGO: join(folder, "logo.svg"),
  GANCHO_PORTAL_FRAME_ORIGINS: ours.url,
  GANCHO_EGRESS_ADDRESSES: "203.0.113.7,198.51.100.0/24",
});
const receiver = await startReceiver();
const browser = await startBrowser(gateway, pictures);
const { open, step } = browser;

const operator = (method, path, body) => gateway.call(method, path, gateway.token, body);
const link = async (tenant) => (await operator("POST", "/v1/portal-links", { tenant })).url;
const keys = {};
for (const [slug, name] of [["padaria", "Padaria Lua"], ["globex", "Globex"]]) {
  await operator("POST", "/v1/tenants", { slug, name, plan: "pro" });
  keys[slug] = (await operator("POST", `/v1/tenants/${slug}/api-keys`, {})).key;
}
const publish = (slug, type, data) => gateway.call("POST", "/v1/events", keys[slug], { type, data });

try {
  const desktop = await open({ viewport: { width: 1280, height: 900 } });
  const page = await desktop.newPage();
  let endpoint;

  await step("a link lets in, and is gone from the address and the history", async () => {
    await page.goto(await link("padaria"));
    assert.equal(page.url(), `${gateway.url}/portal/`);
    assert.equal(await page.evaluate(() => history.length), 2, "the blank page and this one");
    await sees(page, "Webhooks of Padaria Lua");
    assert.equal(await page.evaluate(() => document.cookie.includes("gancho_portal")), false);
  });

  await step("an endpoint is added and tested", async () => {
    await page.getByRole("link", { name: "Add an endpoint" }).first().click();
    await page.fill("#url", receiver.url);
    await page.fill("input#events", "*");
    await page.fill("#name", "Loja");
    await page.click("main button.primary");
    await sees(page, /whsec_/);
    await page.getByRole("link", { name: "Done" }).or(page.locator("main a.primary")).first().click();
    endpoint = new URL(page.url()).pathname;
    await page.getByRole("button", { name: "Send a test" }).click();
    await sees(page, "200");
  });

  await step("a delivery is seen, and a failing endpoint says so", async () => {
    await publish("padaria", "order.paid", { id: "ord_7741" });
    await page.goto("/portal/deliveries?status=delivered");
    await seesSoon(page, "order.paid");
    await page.click("text=order.paid");
    await sees(page, "webhook-signature");
    receiver.status = 503;
    await publish("padaria", "order.created", { id: "ord_7742" });
    await page.goto("/portal/deliveries?status=retrying");
    await seesSoon(page, "503");
    receiver.status = 410;
    const gone = await gateway.call("POST", "/v1/webhooks", keys.padaria, { url: `${receiver.url}/erp`, events: ["*"], name: "ERP" });
    await publish("padaria", "order.voided", { id: "ord_7743" });
    await page.goto("/portal/dead-letters");
    await seesSoon(page, "TARGET_GONE");
    receiver.status = 200;
    await gateway.call("PATCH", `/v1/webhooks/${gone.id}`, keys.padaria, { is_active: true });
    await gateway.call("POST", `/v1/webhooks/${gone.id}/pause`, keys.padaria);
  });

  await step("another tenant is nowhere to be seen", async () => {
    const other = await gateway.call("POST", "/v1/webhooks", keys.globex, { url: receiver.url, events: ["*"], name: "Secret plans" });
    browser.expected = ["404"];
    for (const path of [`/portal/endpoints/${other.id}`, `/portal/endpoints/${other.id}?tenant=globex`, "/portal/tenants", "/portal/queues"]) {
      const answer = await page.goto(path);
      assert.equal(answer.status(), 404, path);
    }
    await page.screenshot({ path: `${pictures}/portal-not-found-light.png` });
    browser.expected = [];
    for (const path of ["/portal/", "/portal/endpoints", "/portal/deliveries?tenant=globex"]) {
      await page.goto(path);
      assert.ok(!(await page.content()).includes("Secret plans"), path);
    }
    await page.goto("/ui/queues");
    assert.match(page.url(), /\/ui\/login/, "the cookie does not open the dashboard");
  });

  await step("a key is made, and works", async () => {
    await page.goto("/portal/keys");
    await page.fill("#key-name", "reports");
    await page.click("main form.grid-form button.primary");
    const key = await page.locator("#new-key").innerText();
    const { data } = await gateway.call("GET", "/v1/webhooks", key);
    assert.equal(data.length, 2);
    await assert.rejects(gateway.call("POST", "/v1/events", key, { type: "a.b", data: {} }), /403/);
  });

  const cookies = await desktop.storageState();
  const delivery = (await gateway.call("GET", "/v1/deliveries?limit=1", keys.padaria)).data[0].id;
  const event = (await gateway.call("GET", "/v1/events?limit=1", keys.padaria)).data[0].id;
  const pages = [
    "/portal/", "/portal/endpoints", endpoint, `${endpoint}/edit`, `${endpoint}/rotate`, `${endpoint}/delete`, "/portal/endpoints/new",
    "/portal/deliveries", `/portal/deliveries/${delivery}`, "/portal/events", `/portal/events/${event}`, "/portal/event-types",
    "/portal/dead-letters", "/portal/replays", "/portal/keys", "/portal/plan",
  ];
  const looks = [
    ["light", { viewport: { width: 1280, height: 900 }, colorScheme: "light" }],
    ["dark", { viewport: { width: 1280, height: 900 }, colorScheme: "dark" }],
    ["narrow", { viewport: { width: 360, height: 800 }, colorScheme: "light" }],
    ["narrow-pt-dark", { viewport: { width: 360, height: 800 }, colorScheme: "dark", locale: "pt-BR" }],
  ];
  for (const [look, options] of looks) {
    await step(`every page of the portal is sound, ${look}`, async () => {
      const context = await open({ storageState: cookies, ...options });
      const page = await context.newPage();
      for (const path of pages) {
        const name = path.replace(/^\/portal\//, "").replaceAll("/", "-").replace(/_[0-9A-Z]{26}/, "");
        await browser.check(page, path, look, `portal-${name || "start"}`);
      }
      await context.close();
    });
  }

  await step("an allowed site embeds the portal and learns its height", async () => {
    const context = await open({ viewport: { width: 1100, height: 900 } });
    const page = await context.newPage();
    ours.frame = `${await link("padaria")}?theme=dark&lang=pt`;
    await page.goto(ours.url);
    const frame = page.frameLocator("iframe");
    await frame.getByText("Webhooks de Padaria Lua").waitFor();
    await frame.getByRole("link", { name: "Entregas", exact: true }).click();
    await frame.getByText("order.paid").first().waitFor();
    // A form works in the frame as well: its session comes along.
    await frame.getByRole("link", { name: "Endpoints", exact: true }).click();
    await frame.locator("form[action*='/resume'] button").first().click();
    await frame.locator(".flash").waitFor();
    await until("the frame tells its height", () => page.evaluate(() => window.told?.px > 200));
    assert.equal(await page.evaluate(() => window.told.origin), gateway.url);
    await page.screenshot({ path: `${pictures}/portal-embedded.png` });
    await context.close();
  });

  await step("any other site is refused, and so is the dashboard in a frame", async () => {
    const context = await open({});
    const page = await context.newPage();
    browser.expected = ["frame-ancestors", "Refused to frame", "Framing"];
    for (const [site, address] of [[foreign, await link("padaria")], [ours, `${gateway.url}/ui/login`]]) {
      site.frame = address;
      await page.goto(site.url);
      await until("the frame is refused", async () => {
        const inside = page.frames().find((frame) => frame !== page.mainFrame());
        return inside?.url().startsWith("chrome-error://");
      });
    }
    browser.expected = [];
    await context.close();
  });

  await step("an expired link says so, in the operator's brand", async () => {
    const context = await open({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    const { url } = await operator("POST", "/v1/portal-links", { tenant: "padaria", expires_in: "1s" });
    // It may expire between its redirect and the page.
    browser.expected = ["410", "401"];
    await until("it is expired", async () => (await page.goto(url)).status() === 410 || (await context.clearCookies(), false));
    await sees(page, "This link has expired");
    await page.screenshot({ path: `${pictures}/portal-expired-light.png` });
    browser.expected = [];
    await context.close();
  });

  await step("signing out ends the session in this browser", async () => {
    await page.goto("/portal/");
    await page.locator("header details.menu summary").click();
    browser.expected = ["401"];
    await page.getByRole("button", { name: "Sign out" }).click();
    await sees(page, "Your session has ended");
    browser.expected = [];
  });
} finally {
  await browser.close();
  for (const server of [receiver, ours, foreign]) server.stop();
  await gateway.stop();
  await rm(folder, { recursive: true, force: true });
}
