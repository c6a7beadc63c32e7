// Live rows: the server sends rows as it renders them, and each goes to its place by its id, which is by age.
(() => {
  const root = document.querySelector("[data-live]"), button = document.querySelector("[data-live-switch]");
  if (!root || !button || !window.EventSource) return;
  const $ = (s) => root.querySelector(s), texts = root.dataset, dot = button.querySelector(".live");
  const table = $("table"), body = $("tbody"), bar = $("[data-held]"), note = $("footer [data-left-out]"), count = $("[data-shown]");
  const said = document.createElement("p"), MAX_ROWS = 200;
  said.className = "vh"; said.setAttribute("role", "status"); root.append(said);
  // A session that has ended leads to the login, and from there back to this page.
  const leaveIfOver = () => fetch(location.href, { redirect: "manual" })
    .then((answer) => { if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) location.reload(); }).catch(() => {});
  let source, timer, isOn = true, leftOut = 0, hasHoles = false, unsaid = 0;
  const held = new Map();

  // New rows wait while someone reads: the pointer or the focus is in the list, its head is scrolled away, or rows are selected.
  const isReading = () => body.querySelector(".pick :checked") || table.matches(":hover") || table.contains(document.activeElement) || table.getBoundingClientRect().top < 0;
  const find = (id) => body.querySelector(`tr[data-id="${CSS.escape(id)}"]`);
  const parse = (html) => { const t = document.createElement("template"); t.innerHTML = html; return t.content.firstElementChild; };

  const replace = (old, html) => {
    const row = parse(html);
    if (!row || old.innerHTML === row.innerHTML) return;
    const hasFocus = old.contains(document.activeElement), box = row.querySelector(".pick input");
    if (box) box.checked = old.querySelector(".pick input")?.checked ?? false;
    old.replaceWith(row);
    if (hasFocus) row.querySelector("a.row")?.focus({ preventScroll: true });
  };
  const insert = (id, html) => {
    const row = parse(html);
    if (!row) return;
    let next = body.firstElementChild;
    while (next && next.dataset.id > id) next = next.nextElementSibling;
    row.classList.add("new");
    body.insertBefore(row, next);
  };
  const settle = () => {
    $("[data-empty]")?.remove();
    table.hidden = false;
    const older = $("a[rel=next]");
    while (body.children.length > MAX_ROWS) {
      body.lastElementChild.remove();
      // The page behind this one begins where its rows end now.
      if (older) { const to = new URL(older.href); to.searchParams.delete("cursor"); to.searchParams.set("until", body.lastElementChild.dataset.at); older.href = to; }
    }
    if (count) count.textContent = count.textContent.replace(/[\d.,]+/, body.children.length);
  };
  const show = () => {
    if (!held.size) return;
    held.forEach((html, id) => insert(id, html));
    unsaid += held.size; held.clear(); settle();
    bar.hidden = true;
  };
  bar.querySelector("button").addEventListener("click", () => { show(); scrollTo({ top: 0 }); });

  const take = ({ rows, left_out }) => {
    leftOut += left_out;
    if (left_out) hasHoles = true;
    for (const { id, fits, html } of rows) {
      const old = find(id);
      if (old) replace(old, html);
      else if (held.has(id) || fits) held.set(id, html);
    }
    while (held.size > MAX_ROWS) held.delete(held.keys().next().value);
    if (!isReading()) show();
    else if (held.size) {
      bar.querySelector("button").textContent = held.size === 1 ? texts.heldOne : texts.heldMany.replace("%n", held.size);
      bar.hidden = false;
    }
  };

  // The server says every five seconds that it and the store are there; without, what is shown grows old.
  let heard = Date.now(), good = heard;
  const state = (name) => {
    if (name === "live") good = Date.now();
    const text = { stale: texts.textStale, lost: texts.textLost }[name] ?? texts.textLive;
    dot.dataset.state = name; root.dataset.state = name;
    dot.lastChild.textContent = text.replace("%t", new Date(good).toISOString().slice(11, 19));
  };
  setInterval(() => { if (source && Date.now() - heard > 12000) state("stale"); }, 2000);
  const close = () => { source?.close(); source = null; clearTimeout(timer); };
  const open = () => {
    close();
    if (!isOn || document.hidden) return;
    source = new EventSource(root.dataset.live);
    heard = Date.now();
    source.addEventListener("open", () => { heard = Date.now(); state("live"); });
    source.addEventListener("state", (e) => { heard = Date.now(); state(e.data); });
    source.addEventListener("rows", (e) => take(JSON.parse(e.data)));
    source.addEventListener("error", () => {
      state("stale");
      if (source?.readyState === EventSource.CLOSED) { timer = setTimeout(open, 10000); leaveIfOver(); }
    });
  };
  const toggle = () => {
    isOn = !isOn;
    button.setAttribute("aria-pressed", isOn);
    if (isOn) open(); else { close(); dot.dataset.state = "off"; root.dataset.state = "off"; dot.lastChild.textContent = texts.textLive; }
  };
  button.addEventListener("click", toggle);
  button.hidden = false;
  document.addEventListener("visibilitychange", open);
  addEventListener("pagehide", close);
  setInterval(() => { note.hidden = !hasHoles; if (hasHoles) note.textContent = leftOut ? texts.leftOut.replace("%n", leftOut) : texts.holes; leftOut = 0; }, 1000);
  setInterval(() => { said.textContent = unsaid ? texts.said.replace("%n", unsaid) : ""; unsaid = 0; }, 15000);
  open();
})();

// Parts that change come with the page itself, after the seconds that they name, while it is seen. `0` ends it.
(() => {
  const parts = (root) => [...root.querySelectorAll("[data-refresh], .vitals")];
  const seconds = (root) => Math.max(0, ...parts(root).map((el) => Number(el.dataset.refresh || 0)));
  // Whoever is filling in a form is not taken away from it.
  const isTyping = () => [...document.querySelectorAll("main :is(input:not([type=hidden]), textarea)")].some((el) => el.value !== el.defaultValue);
  const again = () => { const after = seconds(document); if (after) setTimeout(refresh, after * 1000); };
  const refresh = async () => {
    if (document.hidden) return again();
    const answer = await fetch(location.href).catch(() => null), lost = document.querySelector("[data-lost]");
    if (answer?.redirected && !isTyping()) return location.reload();
    if (!answer?.ok || answer.redirected) { if (lost) lost.hidden = false; return again(); }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html"), next = parts(page);
    if (lost) lost.hidden = page.querySelector("[data-lost]")?.hidden ?? true;
    // A page that has become another one, such as the first steps once they are done.
    if (document.querySelector("[data-until-gone]") && !page.querySelector("[data-until-gone]")) return location.reload();
    document.title = page.title;
    parts(document).forEach((el, i) => {
      // A part with the focus or an open menu in it waits for the next time.
      if (!next[i] || el.contains(document.activeElement) || el.querySelector("details.menu[open]")) return;
      if (el.innerHTML !== next[i].innerHTML) el.innerHTML = next[i].innerHTML;
      if (next[i].dataset.refresh) el.dataset.refresh = next[i].dataset.refresh;
    });
    again();
  };
  again();
})();
