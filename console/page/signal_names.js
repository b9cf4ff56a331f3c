// Names of signals, `topic.key`; those that are shown first; and a dialog in which they are ticked.
import { $, element } from "./dom.js";

export function splitName(name) {
  const at = name.indexOf(".");
  return [name.slice(0, at), name.slice(at + 1)];
}

export function unitOf(topics, name) {
  const [topic, key] = splitName(name.replace(/ \(\w+\)$/, ""));
  return (topics[topic] ?? []).find(([known]) => known === key)?.[1];
}

export const hasSignal = (topics, name) => unitOf(topics, name) !== undefined;

// Signals that a person wants to see first: where the robot is and should be, and what its motors do.
export function usualSignals(topics) {
  const measured = topics.truth?.some(([key]) => key !== "t_s") ? "truth" : "state";
  const isPose = ([key, unit]) => ["m", "rad"].includes(unit) && (topics[measured] ?? []).some(([name]) => name === key);
  const poses = (topics.reference ?? []).filter(isPose).slice(0, 3).map(([key]) => key);
  const motors = (topics.applied ?? []).filter(([, unit]) => unit === "N m").slice(0, 2).map(([key]) => `applied.${key}`);
  const usual = [...poses.flatMap((key) => [`${measured}.${key}`, `reference.${key}`]), ...motors];
  return usual.length ? usual : (topics.truth ?? []).filter(([key]) => key !== "t_s").slice(0, 4).map(([key]) => `truth.${key}`);
}

// Resolves to the names when the dialog is closed.
export function chooseSignals(topics, names) {
  const dialog = $("chooser"), list = $("signals"), search = $("search"), chosen = new Set(names);
  const boxOf = (topic, [key, unit]) => {
    const name = `${topic}.${key}`, box = element("input", { type: "checkbox", checked: chosen.has(name), "data-name": name });
    box.onchange = () => (box.checked ? chosen.add(name) : chosen.delete(name));
    return element("label", { title: unit === "1" ? name : `${name} [${unit}]` }, box, key);
  };
  list.replaceChildren(...Object.entries(topics).map(([topic, keys]) =>
    element("fieldset", {}, element("legend", {}, topic), ...keys.map((key) => boxOf(topic, key)))));
  search.value = "";
  search.oninput = () => {
    const wanted = search.value.trim().toLowerCase();
    for (const label of list.querySelectorAll("label")) label.hidden = !label.title.toLowerCase().includes(wanted);
    for (const set of list.querySelectorAll("fieldset")) set.hidden = !set.querySelector("label:not([hidden])");
  };
  $("none").onclick = () => { chosen.clear(); for (const box of list.querySelectorAll("input")) box.checked = false; };
  $("chosen").onclick = () => dialog.close();
  dialog.showModal();
  return new Promise((resolve) => { dialog.onclose = () => resolve([...chosen]); });
}
