// Progressive enhancement only: every page reads and every form works without this file.
(() => {
  const $ = (s, r = document) => r.querySelector(s), $$ = (s, r = document) => [...r.querySelectorAll(s)];
  const root = document.documentElement, body = document.body;
  // What needs this file is shown only with it.
  root.classList.add("has-js");

  // Theme: system, light, dark. The server renders data-theme from the cookie.
  const themes = ["system", "light", "dark"], button = $("[data-theme-switch]");
  const setTheme = (name) => {
    name === "system" ? root.removeAttribute("data-theme") : root.setAttribute("data-theme", name);
    document.cookie = `gancho_theme=${name}; ${body.dataset.cookie}; Max-Age=31536000`;
    button?.setAttribute("aria-label", `${body.dataset.themeLabel}: ${name}`);
  };
  let theme = root.dataset.theme || "system";
  const nextTheme = () => setTheme(theme = themes[(themes.indexOf(theme) + 1) % 3]);
  button?.addEventListener("click", nextTheme);

  // Copy buttons say so for two seconds, also to screen readers.
  const said = body.appendChild(Object.assign(document.createElement("p"), { className: "vh", role: "status" }));
  const copy = async (el) => {
    const from = el.dataset.copyFrom ? $(el.dataset.copyFrom)?.textContent : el.dataset.copy;
    await navigator.clipboard.writeText(from ?? "");
    el.classList.add("done"); said.textContent = body.dataset.copied;
    setTimeout(() => { el.classList.remove("done"); said.textContent = ""; }, 2000);
  };

  // Countdowns tick once a second by the server's clock; the server's text is right at load.
  const span = (ms) => { const s = Math.max(0, Math.round(ms / 1000)), h = s / 3600 | 0, m = s / 60 % 60 | 0; return h ? `${h} h ${m} min` : m ? `${m} min ${s % 60} s` : `${s % 60} s`; };
  const offset = Date.parse(body.dataset.now) - Date.now();
  const tick = () => $$("[data-countdown]").forEach((el) => el.textContent = span(Date.parse(el.dateTime) - Date.now() - offset));
  setInterval(tick, 1000);

  // In a frame of the portal: the pages that embed it may fit the frame to its height.
  const above = location.ancestorOrigins?.[0];
  const origins = (body.dataset.frameOrigins ?? "").split(" ").filter((origin) => origin && (!above || origin === above));
  if (parent !== window && origins.length) {
    const tell = () => origins.forEach((origin) => parent.postMessage({ type: "gancho:height", px: root.scrollHeight }, origin));
    new ResizeObserver(tell).observe(body);
  }

  // The tab of this page is in view, also where the tabs do not fit.
  $(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // An error message gets the focus.
  $(".flash[role=alert][tabindex]")?.focus();

  // A form is sent once, however often its button is pressed.
  let sent = new WeakSet();
  document.addEventListener("submit", (e) => {
    if (e.target.method !== "post" || e.target.target) return;
    if (sent.has(e.target)) return e.preventDefault();
    sent.add(e.target);
    // What may take long says so.
    if (e.target.matches("[data-busy]")) { $("[data-busy-note]", e.target).hidden = false; e.target.setAttribute("aria-busy", "true"); }
  });
  // A page that the browser kept: its forms can be sent again, and a secret is not shown again.
  addEventListener("pageshow", (e) => { sent = new WeakSet(); $$("[data-busy-note]").forEach((note) => note.hidden = true); if (e.persisted && $(".secret")) location.reload(); });

  // Close menus on Escape and on a click elsewhere.
  const close = (except) => $$("details.menu[open]").forEach((d) => d !== except && (d.open = false));
  document.addEventListener("click", (e) => {
    close(e.target.closest("details.menu"));
    const c = e.target.closest("[data-copy], [data-copy-from]"); if (c) copy(c);
    if (e.target.closest("[data-close]") || e.target.nodeName === "DIALOG") e.target.closest("dialog")?.close();
  });

  // The box above a list selects all of its rows.
  document.addEventListener("change", (e) => {
    if (e.target.matches("[data-select-all]")) $$("input[name=id]", e.target.closest("table")).forEach((box) => box.checked = e.target.checked);
  });

  // Command palette: a list of links, filtered as one types.
  const palette = $("#palette"), keys = $("#keys"), input = palette && $("input", palette);
  input?.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    $$("li", palette).forEach((li) => li.hidden = !words.every((w) => li.textContent.toLowerCase().includes(w)));
  });
  palette?.addEventListener("keydown", (e) => {
    const links = $$("li:not([hidden]) a", palette), at = links.indexOf(document.activeElement);
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); links[(at + (e.key === "ArrowDown" ? 1 : links.length - 1) + links.length) % links.length]?.focus(); }
    if (e.key === "Enter" && at < 0 && links.length && !/^[a-z]{2,3}_/.test(input.value)) { e.preventDefault(); links[0].click(); }
  });

  // Keyboard.
  let pending = "";
  document.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key === "k") { e.preventDefault(); palette?.showModal(); return; }
    // An empty search is left, so that keys work again; one with text is first emptied.
    if (e.key === "Escape") { close(); if (e.target.id === "q" && !e.target.value) e.target.blur(); }
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, dialog")) return;
    if (pending === "g") { pending = ""; $(`[data-go="${CSS.escape(e.key)}"]`)?.click(); return; }
    const rows = $$("a.row"), at = rows.indexOf(document.activeElement);
    const keyed = () => $(`[data-key="${CSS.escape(e.key)}"]`);
    const act = {
      "/": () => $("#q")?.focus(), "?": () => keys?.showModal(), g: () => { pending = "g"; setTimeout(() => pending = "", 1200); },
      j: () => rows[Math.min(at + 1, rows.length - 1)]?.focus(), k: () => rows[Math.max(at - 1, 0)]?.focus(),
      x: at >= 0 && (() => $("input[name=id]", rows[at].closest("tr"))?.click()),
      t: nextTheme, " ": rows[at]?.dataset.peek && (() => location.href = rows[at].dataset.peek),
    }[e.key] ?? (keyed() && (() => keyed().click()));
    if (act) { e.preventDefault(); act(); }
  });
})();
