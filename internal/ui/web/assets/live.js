// Keeps the page up to date. Without this script it shows the state at load time.
"use strict";

const interval = 2000;    // milliseconds between two status requests
const maxAge = 30000;     // reload the main part after this, so that the ages stay right
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
    if (key === "progress" || key === "explanation") return undefined;
    if (key === "scrub" && value) return [value.state, value.started_at, value.finished_at, value.damaged, value.repaired];
    return value;
  });
}

const cardOf = (manifest) => document.querySelector(`[data-manifest="${CSS.escape(manifest.name)}"]`);

// isOutdated is true when the page shows another state: it may have changed between
// the making of the page and the first status.
const isOutdated = (manifest) => !cardOf(manifest)?.classList.contains(manifest.state);

// showProgress updates a card during a download.
function showProgress(manifest) {
  const card = cardOf(manifest);
  if (!card) return;
  card.querySelector("[data-explanation]").textContent = manifest.explanation;
  const bar = card.querySelector("[data-progress]");
  if (!bar || !manifest.progress) return;
  const { bytes_done: done, bytes_total: total } = manifest.progress;
  bar.value = total > 0 ? Math.min(100, Math.floor((100 * done) / total)) : 0;
}

// showScrub updates the section of a running scrub.
function showScrub(scrub) {
  const text = document.querySelector("[data-scrub]");
  const bar = document.querySelector("[data-scrub-progress]");
  if (!scrub || !text) return;
  text.textContent = scrub.explanation;
  if (bar && scrub.total_bytes > 0) bar.value = Math.floor((100 * scrub.bytes) / scrub.total_bytes);
}

// renew replaces the main part of the page and keeps the focus.
async function renew() {
  const response = await get("/");
  const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("main");
  const main = document.getElementById("main");
  const focused = main.contains(document.activeElement) ? document.activeElement.id : "";
  main.replaceWith(document.adoptNode(next));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
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
  if (changed || Date.now() - renewedAt > maxAge) await renew();
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

if (location.search) history.replaceState(null, "", "/"); // a reload must not show the note again
run();
