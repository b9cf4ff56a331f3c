// The page: its session, tabs, theme, keys, and the list of running loops.
import { Live } from "./live.js";
import { Logs } from "./logs.js";

const $ = (id) => document.getElementById(id);
const say = (text) => { $("notice").textContent = text; $("notice").hidden = !text; };

// The token stands behind the # of the address, which no server sees; it is exchanged for a cookie and taken away.
async function session() {
  const given = new URLSearchParams(location.hash.slice(1)), token = given.get("token");
  history.replaceState(null, "", location.pathname);
  if (token) {
    const answer = await fetch("/api/session", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }) });
    if (!answer.ok) { say((await answer.json().catch(() => ({ text: "refused" }))).text); return null; }
  }
  return given;
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
}

async function start() {
  theme(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"));
  const given = await session();
  if (given === null) return;
  const live = new Live(), logs = new Logs(say);
  window.granite = { live, logs }; // for a look from the browser's own console
  const tab = (name) => {
    for (const button of document.querySelectorAll("[data-tab]")) button.setAttribute("aria-selected", button.dataset.tab === name);
    for (const part of document.querySelectorAll(".tab")) part.hidden = part.id !== name;
    if (name === "logs") logs.list().catch((error) => say(error.message));
  };
  for (const button of document.querySelectorAll("[data-tab]")) button.onclick = () => tab(button.dataset.tab);
  $("theme").onclick = () => theme(document.documentElement.dataset.theme === "light" ? "dark" : "light");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || ["INPUT", "SELECT"].includes(event.target.tagName)) {
      if (event.key !== "Escape") return;
    }
    if (event.key.toLowerCase() === "t") $("theme").click();
    else live.key(event);
  });
  let shown = "";
  const runs = async () => {
    const answer = await fetch("/api/runs").catch(() => null);
    if (!answer) return;
    if (answer.status === 403) { say(await answer.text()); return; }
    const found = await answer.json(), now = JSON.stringify(found);
    if (now === shown) return;
    shown = now;
    $("runs").replaceChildren(...found.map((run) => new Option(`${run.bed} (${run.mode}, process ${run.pid})`, run.pid)));
    $("runs").hidden = !found.length;
    if (!found.length) { if (!live.run) say("No run with --live is under way: granite sim BED --realtime --live --operator"); return; }
    say("");
    const same = found.find((run) => run.pid === live.run?.pid);
    const chosen = same ?? found.at(-1);
    $("runs").value = chosen.pid;
    if (!same) live.connect(chosen);
  };
  $("runs").onchange = async () => {
    const found = await (await fetch("/api/runs")).json(), chosen = found.find((run) => String(run.pid) === $("runs").value);
    if (chosen) live.connect(chosen);
  };
  if (given.get("log")) { tab("logs"); logs.show(given.get("log")).catch((error) => say(error.message)); }
  await runs();
  setInterval(runs, 1000);
}

start();
