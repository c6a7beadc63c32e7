// A browser that notices what goes wrong on its pages: script errors, dialogs, anything that the content security
// policy had to block, and serious findings of axe-core.

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { chromium } from "playwright-core";

import { until } from "./gateway.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function startBrowser(gateway, pictures) {
  await mkdir(pictures, { recursive: true });
  const chrome = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  const faults = [];
  const browser = {
    /** Texts in messages of the console that are as they should be. */
    expected: [],
    close: () => chrome.close(),

    async open(options) {
      const context = await chrome.newContext({ baseURL: gateway.url, locale: "en-US", ...options });
      context.on("page", watch);
      return context;
    },

    /** Runs a part of the flow. Fails if anything went wrong on a page meanwhile. */
    async step(what, run) {
      await run();
      assert.deepEqual(faults, [], what);
      console.log(`ok  ${what}`);
    },

    /** Opens a page, checks its layout and its accessibility, and takes a picture. */
    async check(page, path, look, picture) {
      const answer = await page.goto(path);
      assert.equal(answer.status(), 200, path);
      assert.match(answer.headers()["content-security-policy"], /default-src 'none'/, path);
      assert.notEqual(await heading(page), "", path);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${path} scrolls sideways by ${overflow} px`);
      // Evaluated by the debugger, which the policy does not concern.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      const told = serious.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
      assert.deepEqual(told, [], `${path}, ${look}`);
      await page.screenshot({ path: `${pictures}/${picture}-${look}.png`, fullPage: true });
    },
  };

  function watch(page) {
    page.on("pageerror", (error) => faults.push(`${page.url()}: ${error}`));
    page.on("dialog", (dialog) => {
      faults.push(`${page.url()}: a dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("console", (message) => {
      const isExpected = browser.expected.some((text) => message.text().includes(text));
      if (message.type() === "error" && !isExpected) faults.push(`${page.url()}: ${message.text()}`);
    });
  }

  return browser;
}

export const heading = (page) => page.locator("h1").first().innerText();
export const sees = (page, text) => page.getByText(text).first().waitFor({ timeout: 10_000 });

/** Loads the page again until the text is on it. */
export async function seesSoon(page, text) {
  await until(`"${text}" is on ${page.url()}`, async () => {
    if (await page.getByText(text).count()) return true;
    await page.reload();
    return false;
  });
}
