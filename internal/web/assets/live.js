// Keeps the page live. Without this script it is complete, as of when it was made.
"use strict";

const every = 2000;     // milliseconds between two looks at the status
const renewal = 30000;  // the ages on the page are no older than this
const patience = 10000; // a syncd that takes longer to answer does not
let known = null;       // the status without what moves during a download
let states = {};        // the state of each manifest
let renewed = Date.now();
let lost = false;

const news = document.getElementById("news");

// ask fetches a path of this site; an error is thrown, as no answer is.
async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(patience) });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer;
}

// still is what a change of calls for a new page.
function still(status) {
  return JSON.stringify(status, (key, value) => (key === "progress" || key === "explanation" ? undefined : value));
}

// move shows what moves during a download.
function move(manifest) {
  const card = document.querySelector(`[data-manifest="${CSS.escape(manifest.name)}"]`);
  if (!card) return;
  card.querySelector("[data-explanation]").textContent = manifest.explanation;
  const bar = card.querySelector("[data-progress]");
  if (!bar || !manifest.progress) return;
  const { bytes_done: done, bytes_total: total } = manifest.progress;
  bar.value = total > 0 ? Math.min(100, Math.floor((100 * done) / total)) : 0;
}

// renew takes the page's main part from a new page, and leaves the focus where it is.
async function renew() {
  const answer = await ask("/");
  const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
  const main = document.getElementById("main");
  const focused = main.contains(document.activeElement) ? document.activeElement.id : "";
  main.replaceWith(document.adoptNode(next));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  renewed = Date.now();
}

// announce tells changes of state, also to who cannot see the page.
function announce(status) {
  const changes = status.manifests.filter((m) => m.name in states && states[m.name] !== m.state);
  states = Object.fromEntries(status.manifests.map((m) => [m.name, m.state]));
  if (changes.length > 0) news.textContent = changes.map((m) => `${m.name}: ${m.explanation}`).join(". ");
}

async function look() {
  const answer = await ask("/api/v1/status");
  const status = await answer.json();
  if (lost) news.textContent = "syncd answers again.";
  lost = false;
  const now = still(status);
  if ((known !== null && now !== known) || Date.now() - renewed > renewal) await renew();
  known = now;
  status.manifests.forEach(move);
  announce(status);
}

async function follow() {
  try {
    if (!document.hidden) await look();
  } catch {
    if (!lost) news.textContent = "syncd does not answer: what is shown may be old.";
    lost = true;
  }
  setTimeout(follow, every);
}

if (location.search) history.replaceState(null, "", "/"); // a reload asks for nothing again
follow();
