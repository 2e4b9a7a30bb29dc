// What a page does by itself: it shows the phase of its trial, looks again when the log has grown, and sends a form once.
"use strict";

const PAUSE = 2000; // milliseconds between two looks
const LATER = 30000; // milliseconds until a stream is asked for again that was refused
let due = false, looking = false, last = 0, events = null, followed = false;

function say(words) {
  const place = document.getElementById("freshness");
  if (place) place.textContent = words;
}

function openDetails(part) {
  return [...part.querySelectorAll("details")].map((each) => each.open);
}

function replacePart(old, fresh, always) {
  if (!fresh || old.innerHTML === fresh.innerHTML || (!always && old.contains(document.activeElement))) return;
  const open = openDetails(old);
  old.replaceChildren(...fresh.childNodes);
  old.querySelectorAll("details").forEach((each, k) => { each.open = Boolean(open[k]); });
}

async function lookAgain() {
  if (looking) { due = true; return; }
  looking = true;
  due = false;
  try {
    await new Promise((wait) => setTimeout(wait, Math.max(0, last + PAUSE - Date.now())));
    const answer = await fetch(document.body.dataset.source || location.href, { credentials: "same-origin" });
    if (answer.ok && !answer.redirected) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const moved = page.body.dataset.log !== document.body.dataset.log; // nothing of the other log may stay
      document.querySelectorAll("[data-follow]").forEach((old) => replacePart(old, page.getElementById(old.id), moved));
      document.body.dataset.log = page.body.dataset.log;
      say("Up to date at " + new Date().toLocaleTimeString());
    } else {
      say("Not up to date: load the page again.");
    }
  } catch (error) {
    say("Not up to date: the service does not answer.");
  } finally {
    last = Date.now();
    looking = false;
    if (due) lookAgain();
  }
}

function outdate(part) { // it belongs to the rehearsal, and the trial was locked: say so, and send nothing
  part.querySelectorAll("[data-outdated]").forEach((each) => { each.hidden = false; });
  part.querySelectorAll("[data-once] button").forEach((each) => { each.disabled = true; });
}

function showPhase(told) {
  const banner = document.getElementById("banner");
  const [word, text] = banner.children;
  if (text.textContent !== told.text) {
    banner.className = "banner " + told.phase;
    word.textContent = told.word;
    text.textContent = told.text;
    document.title = document.title.slice(0, document.title.lastIndexOf(" · ") + 3) + told.word;
  }
  document.querySelectorAll("form[data-once]").forEach((form) => { if (form.elements.log.value !== told.log) outdate(form); });
  if (document.body.dataset.log === told.log) return;
  document.body.classList.add("outdated");
  outdate(document);
  lookAgain();
}

function followTrial() {
  if (events || document.hidden) return;
  events = new EventSource(document.body.dataset.events);
  events.addEventListener("open", () => {
    if (followed) lookAgain(); else say("This page follows the log");
    followed = true;
  });
  events.addEventListener("phase", (event) => showPhase(JSON.parse(event.data)));
  events.addEventListener("moved", lookAgain);
  events.addEventListener("error", () => {
    say("Not up to date at the moment");
    if (events?.readyState === EventSource.CLOSED) { // refused: the browser does not try again by itself
      stopFollowing();
      setTimeout(followTrial, LATER);
    }
  });
}

function stopFollowing() { // a browser has few connections to one server: a page that nobody sees takes none
  events?.close();
  events = null;
}

function sendOnce(event) {
  const form = event.target;
  if (!form.matches("[data-once]")) return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
}

document.addEventListener("submit", sendOnce);
window.addEventListener("pageshow", () => document.querySelectorAll("[data-sent]").forEach((form) => delete form.dataset.sent));
document.querySelector("[data-focus]")?.focus();
if (document.body.dataset.events) {
  followTrial();
  document.addEventListener("visibilitychange", () => (document.hidden ? stopFollowing() : followTrial()));
  window.addEventListener("pagehide", stopFollowing);
  window.addEventListener("pageshow", followTrial);
}
