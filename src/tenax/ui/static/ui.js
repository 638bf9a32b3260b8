// The script of all pages: theme, times that tick, copying, dialogs, keys, and the connection for live updates.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // -- theme

  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  function toggleTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("tenax-theme", root.dataset.theme);
    } catch {
      // The choice holds until the page is left.
    }
    document.dispatchEvent(new Event("tenax:theme"));
  }

  // -- times

  const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

  // Writes seconds with at most two units: 45s, 3m 20s, 2h 5m.
  function inWords(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    if (whole === 0) return "0s";
    const first = UNITS.findIndex(([, size]) => whole >= size);
    const [unit, size] = UNITS[first];
    const [next, nextSize] = UNITS[first + 1] ?? ["", 0];
    const rest = next ? Math.floor((whole % size) / nextSize) : 0;
    return `${Math.floor(whole / size)}${unit}${rest ? ` ${rest}${next}` : ""}`;
  }

  // Writes how long ago a time was, with one unit.
  function ago(seconds) {
    if (seconds < -1) return `in ${inWords(-seconds)}`;
    if (seconds < 5) return "now";
    const [unit, size] = UNITS.find(([, length]) => seconds >= length);
    return `${Math.floor(seconds / size)}${unit} ago`;
  }

  function tick() {
    const now = Date.now();
    for (const element of all("time[data-relative], time[data-countdown], time[data-elapsed]")) {
      const since = (now - Date.parse(element.dateTime)) / 1000;
      let text = "relative" in element.dataset ? ago(since) : inWords(since);
      if ("countdown" in element.dataset) text = since >= 0 ? "due" : `in ${inWords(Math.ceil(-since))}`;
      if (element.textContent !== text) element.textContent = text;
    }
  }

  // -- parts that only work with scripts

  function prepare(within) {
    for (const button of all("[data-copy], [data-theme-toggle], [data-help], [data-dismiss]", within)) button.hidden = false;
    tick();
  }

  async function copy(button) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  }

  function openDialog(dialog) {
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("[autofocus], input:not([type=hidden]), textarea, select, button")?.focus();
  }

  document.addEventListener("click", (event) => {
    const found = event.target.closest?.("[data-copy], [data-theme-toggle], [data-help], [data-close]");
    if (!found) return;
    if ("copy" in found.dataset) copy(found);
    else if ("themeToggle" in found.dataset) toggleTheme();
    else if ("help" in found.dataset) openDialog(document.getElementById("help"));
    else if (found.closest("dialog")) {
      event.preventDefault();
      found.closest("dialog").close();
    }
  });

  // A result in the notices ends the dialog that has led to it. A click beside an open menu closes it.

  document.addEventListener("htmx:after:swap", (event) => {
    if (event.detail.ctx?.target === "#notices") document.getElementById("dialog").close();
  });
  document.addEventListener("click", (event) => {
    event.target.closest?.("[data-dismiss]")?.closest(".notice").remove();
    for (const menu of all("details.menu[open]")) {
      if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest?.("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // -- keys

  let isGoing = false;

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable], dialog[open]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const wasGoing = isGoing;
    isGoing = event.key === "g";
    if (wasGoing) {
      all("[data-go]").find((link) => link.dataset.go === event.key)?.click();
    } else if (event.key === "/") {
      const filter = document.querySelector("[data-filter]");
      if (!filter) return;
      event.preventDefault();
      filter.focus();
      filter.select();
    } else if (event.key === "?") {
      openDialog(document.getElementById("help"));
    } else if (event.key === "t") {
      toggleTheme();
    }
  });

  // -- live updates
  //
  // A browser opens few connections to one host, so a page that nobody sees has none. htmx closes the stream of a hidden page, and opens it
  // again with the id of its last event. A page that is opened in the background connects when it is seen first.

  const RETRY = 2000; // milliseconds until a stream that was never open is tried again
  let hasStream = false;
  let isAsking = false;

  function connect() {
    const live = document.getElementById("live");
    if (!live || hasStream || isAsking || document.hidden) return;
    window.htmx.trigger(live, "tenax:connect");
  }

  function tellConnection(text) {
    const place = document.getElementById("connection");
    place.textContent = text ?? "";
    place.hidden = text === null;
    if (text !== null) root.dataset.live = "off";
  }

  document.addEventListener("htmx:before:request", (event) => {
    if (event.target.id === "live") isAsking = true;
  });
  document.addEventListener("htmx:sse:after:connection", () => {
    hasStream = true;
    isAsking = false;
    root.dataset.live = "on";
    tellConnection(null);
  });
  document.addEventListener("htmx:sse:after:message", (event) => {
    if (event.detail.message.event !== "tenax:trouble") tellConnection(null);
  });
  document.addEventListener("htmx:sse:error", (event) => {
    if (event.detail.status === 401) location.reload();
    else tellConnection("The connection to the server is lost. This page shows what was known before, and tries again by itself.");
  });
  document.addEventListener("htmx:sse:close", () => { hasStream = false; });
  document.addEventListener("tenax:trouble", (event) => {
    tellConnection(`This page is not up to date: ${event.detail.data}`);
  });
  document.addEventListener("htmx:finally:request", (event) => {
    if (event.target.id !== "live") return;
    isAsking = false;
    if (!hasStream) tellConnection("The connection to the server is lost. This page tries again by itself.");
  });
  document.addEventListener("htmx:after:process", connect);
  document.addEventListener("visibilitychange", connect);
  setInterval(connect, RETRY);

  // -- rows that are chosen, and the way back to a list

  function countChosen() {
    for (const form of all("[data-selection]")) {
      const isAll = form.querySelector("[data-all]")?.checked ?? false;
      const rows = all("[data-pick]");
      const chosen = rows.filter((row) => row.checked).length;
      const place = form.querySelector("[data-selected]");
      place.textContent = isAll ? "" : `${chosen} ${place.dataset.selected}`;
      place.hidden = isAll;
      for (const row of rows) row.disabled = isAll;
      for (const button of all("button", form)) button.disabled = !isAll && chosen === 0;
      for (const box of all("[data-pick-page]")) {
        box.closest("label").hidden = false;
        box.disabled = isAll || rows.length === 0;
        box.checked = chosen > 0 && chosen === rows.length;
        box.indeterminate = chosen > 0 && chosen < rows.length;
      }
    }
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-pick-page]")) {
      for (const row of all("[data-pick]")) row.checked = event.target.checked;
    }
    if (event.target.matches?.("[data-pick-page], [data-pick], [data-all]")) countChosen();
  });

  // From a page below a list, its link in the navigation leads to the list as it was seen last in this tab: with its filter and its
  // place. So do links with `data-back`.
  function keepList() {
    try {
      const list = document.querySelector("[data-list]");
      if (list) sessionStorage.setItem(`tenax-list:${list.dataset.list}`, location.search);
      for (const link of all("a[data-back], .side nav a[aria-current]")) {
        if (link.pathname === location.pathname) continue;
        link.search = sessionStorage.getItem(`tenax-list:${link.pathname}`) ?? link.search;
      }
    } catch {
      // Without storage the link leads to the beginning of the list.
    }
  }

  // -- htmx

  document.addEventListener("htmx:after:swap", (event) => {
    prepare(document);
    countChosen();
    const dialog = document.getElementById("dialog");
    if (event.detail.ctx?.target === dialog && dialog.childElementCount) openDialog(dialog);
    document.dispatchEvent(new Event("tenax:changed"));
  });

  document.addEventListener("DOMContentLoaded", () => {
    prepare(document);
    countChosen();
    keepList();
    document.querySelector("form[data-send-now]")?.requestSubmit();
    setInterval(tick, 1000);
  });
})();
