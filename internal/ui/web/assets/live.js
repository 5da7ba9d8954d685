// Keeps the page up to date. Without this script it shows the state at load time.
"use strict";

const interval = 2000;    // milliseconds between two status requests
const maxAge = 30000;     // reload the main part after this, so that the ages stay right
const retryAge = 5000;    // the same while the provider does not answer
const timeout = 10000;    // of a request
let shown = null;         // the shown status, without progress
let states = {};          // the state of each manifest
let renewedAt = Date.now();
let offline = false;

const news = document.getElementById("news");

// get fetches a path of this site. It throws for an error status and for a timeout.
async function get(path) {
  const response = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(timeout) });
  if (!response.ok) throw new Error(response.statusText);
  return response;
}

// withoutProgress is the part of the status whose change needs a new main part.
function withoutProgress(status) {
  return JSON.stringify(status, (key, value) => {
    if (key === "explanation") return undefined;
    if (key === "progress") return value && [value.phase, value.bytes_total > 0, value.stuck_since, value.retry?.error, value.retry?.attempt, value.retry?.next_at];
    if (key === "scrub" && value) return [value.state, value.started_at, value.finished_at, value.damaged, value.repaired];
    return value;
  });
}

const cardOf = (manifest) => document.querySelector(`[data-manifest="${CSS.escape(manifest.name)}"]`);

// isOutdated is true when the page shows another state: it may have changed between
// the making of the page and the first status.
const isOutdated = (manifest) => cardOf(manifest)?.dataset.state !== manifest.state;

// showProgress updates a card during a download.
function showProgress(manifest) {
  const text = cardOf(manifest)?.querySelector("[data-brief]");
  if (!text || manifest.progress?.phase !== "downloading" || manifest.progress.retry) return;
  text.textContent = manifest.explanation.replace(/^syncing: /, "");
  const bar = cardOf(manifest).querySelector("[data-progress]");
  const { bytes_done: done, bytes_total: total } = manifest.progress;
  if (bar && total > 0) bar.value = Math.min(100, Math.floor((100 * done) / total));
}

// showScrub updates the section of a running scrub.
function showScrub(scrub) {
  const text = document.querySelector("[data-scrub]");
  const bar = document.querySelector("[data-scrub-progress]");
  if (!scrub || !text) return;
  text.textContent = scrub.explanation;
  if (bar && scrub.total_bytes > 0) bar.value = Math.floor((100 * scrub.bytes) / scrub.total_bytes);
}

// folds are the parts of the page that the reader folded or unfolded, as they were in the
// state that each part had. They outlive a form, which loads the page again.
const folds = {
  all: () => { try { return JSON.parse(sessionStorage.getItem("folds")) ?? {}; } catch { return {}; } },
  note(part) {
    try { sessionStorage.setItem("folds", JSON.stringify({ ...folds.all(), [part.dataset.fold]: part.open })); } catch { /* not kept */ }
  },
  apply(root) {
    const all = folds.all();
    for (const part of root.querySelectorAll("[data-fold]")) part.open = all[part.dataset.fold] ?? part.open;
  },
};

// copy puts a text on the clipboard, also on a page without https, where browsers offer no
// clipboard to scripts.
async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("the browser does not copy");
}

// equip adds to new parts of the page what needs the script.
function equip(root) {
  folds.apply(root);
  for (const command of root.querySelectorAll("code.command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${command.textContent}`);
    command.after(button);
  }
}

// about is what a question is about: the answer to one is no answer to another.
const about = (question) => [...question.querySelectorAll("input")].map((input) => input.value).join("\n");

// renew replaces the main part of the page, and keeps the focus and open questions. A question
// that is about something else by now is closed: its reader has not seen it.
async function renew() {
  const response = await get("/");
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const next = document.adoptNode(page.getElementById("main"));
  const main = document.getElementById("main");
  equip(next);
  for (const question of main.querySelectorAll("details.ask[open]")) {
    const again = next.querySelector(`#${CSS.escape(question.id)}`);
    if (again && about(again) === about(question)) again.open = true;
    for (const choice of question.querySelectorAll("select")) {
      const same = next.querySelector(`#${CSS.escape(choice.id)}`);
      if (same) same.value = choice.value;
    }
  }
  const active = document.activeElement;
  const focused = !main.contains(active) ? "" : active.id || (active.tagName === "SUMMARY" ? active.parentElement.id : "");
  main.replaceWith(next);
  if (focused) {
    const target = document.getElementById(focused);
    (target?.tagName === "DETAILS" ? target.querySelector("summary") : target)?.focus({ preventScroll: true });
  }
  document.title = page.title;
  document.querySelector("link[rel=icon]").href = page.querySelector("link[rel=icon]").getAttribute("href");
  renewedAt = Date.now();
}

// announce writes changes of state to the live region, for screen readers too.
function announce(status) {
  const changes = status.manifests.filter((m) => m.name in states && states[m.name] !== m.state);
  states = Object.fromEntries(status.manifests.map((m) => [m.name, m.state]));
  if (changes.length > 0) news.textContent = changes.map((m) => `${m.name}: ${m.explanation}`).join(". ");
}

async function update() {
  const response = await get("/api/v1/status");
  const status = await response.json();
  if (offline) news.textContent = "syncd responds again.";
  offline = false;
  const now = withoutProgress(status);
  const changed = shown === null ? status.manifests.some(isOutdated) : now !== shown;
  const age = status.manifests.some((m) => m.progress?.retry) ? retryAge : maxAge;
  if (changed || Date.now() - renewedAt > age) await renew();
  shown = now;
  status.manifests.forEach(showProgress);
  showScrub(status.scrub);
  announce(status);
}

async function run() {
  try {
    if (!document.hidden) await update();
  } catch {
    if (!offline) news.textContent = "syncd does not respond. The page may be out of date.";
    offline = true;
  }
  setTimeout(run, interval);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) {
    const summary = event.target.closest("summary");
    if (summary?.parentElement.dataset.fold) setTimeout(() => folds.note(summary.parentElement)); // when it has toggled
    return;
  }
  try {
    await copy(button.previousElementSibling.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
    button.textContent = "Press Ctrl+C";
  }
});

if (location.search) history.replaceState(null, "", "/"); // a reload must not show the note again
equip(document);
run();
