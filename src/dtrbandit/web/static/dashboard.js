// What a page does by itself: it looks again when the log has grown, and sends a form once.
"use strict";

const PAUSE = 2000; // milliseconds between two looks
let due = false, looking = false, last = 0;

function say(words) {
  const place = document.getElementById("live");
  if (place) place.textContent = words;
}

function openDetails(part) {
  return [...part.querySelectorAll("details")].map((each) => each.open);
}

function replacePart(old, fresh) {
  if (!fresh || old.innerHTML === fresh.innerHTML || old.contains(document.activeElement)) return;
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
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (answer.ok && !answer.redirected) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.querySelectorAll("[data-live]").forEach((old) => replacePart(old, page.getElementById(old.id)));
      say("Live: up to date at " + new Date().toLocaleTimeString());
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

function followLog(place) {
  const events = new EventSource(place);
  events.addEventListener("open", () => say("Live: this page follows the log"));
  events.addEventListener("moved", lookAgain);
  events.addEventListener("error", () => say("Not live at the moment"));
  window.addEventListener("pagehide", () => events.close());
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
if (document.body.dataset.events) followLog(document.body.dataset.events);
