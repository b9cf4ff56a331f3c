// The health of a run: devices, links of boards, the tick by step, lateness, lost rows, tanks and the guard.
import { $, element, words } from "./dom.js";

const STEPS = ["#5aa9e6", "#2fb08a", "#e6c229", "#f08a24", "#cc79a7", "#c8504f", "#7d8894", "#4a5460"];
const fact = (name, value, isBad = false) => element("div", { class: "fact" }, element("span", { class: "soft" }, name), element("b", { class: isBad ? "bad" : "" }, value));
const table = (heads, rows) => element("table", {},
  element("thead", {}, element("tr", {}, ...heads.map((head, i) => element("th", { class: i ? "right" : "" }, head)))),
  element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, i) => element("td", { class: i ? "right" : "" }, cell))))));
const us = (value) => `${value.toFixed(0)} µs`;

export function showHealth({ devices, steps, tick_us, late_us, overruns, lost, tanks, period_us, links, guard }) {
  const rows = devices.map(({ name, status, age_ms, frames }) => [
    element("span", {}, element("span", { class: status === "ok" ? "dot" : "dot bad" }), words(name)),
    status, age_ms === null ? "–" : `${age_ms.toFixed(0)} ms`, String(frames)]);
  const linkRows = Object.entries(links).map(([name, { status, age_s, rate }]) => [
    element("span", {}, element("span", { class: status === "ok" ? "dot" : "dot bad" }), words(name)), status, `${age_s.toFixed(1)} s`, String(rate)]);
  const troubled = Object.entries(links).filter(([, { trouble }]) => Object.keys(trouble).length);
  const whole = steps.reduce((sum, step) => sum + step.median_us, 0) || 1;
  const bar = element("div", { class: "bar" }, ...steps.map(({ name, median_us }, i) => {
    const piece = element("span", { title: `${name}: ${us(median_us)}` });
    piece.style.width = `${(100 * median_us) / whole}%`;
    piece.style.background = STEPS[i % STEPS.length];
    return piece;
  }));
  const stepRows = steps.map(({ name, median_us, p99_us }, i) => {
    const dot = element("span", { class: "dot" });
    dot.style.background = STEPS[i % STEPS.length];
    return [element("span", {}, dot, name), us(median_us), us(p99_us)];
  });
  const parts = [
    table(["device", "status", "age", "frames"], rows),
    ...(linkRows.length ? [table(["link", "status", "heard", "frames/s"], linkRows)] : []),
    ...troubled.map(([name, { trouble }]) => fact(`trouble of ${words(name)}`, Object.entries(trouble).map(([key, n]) => `${n} ${words(key)}`).join(", "), true)),
    fact("guard", guard),
    fact("tick: median, 99 %", `${tick_us[0].toFixed(0)}, ${tick_us[1].toFixed(0)} of ${us(period_us)}`, tick_us[1] > period_us), bar,
    fact("late: median, 99 %", `${us(late_us[0])}, ${us(late_us[1])}`),
    fact("overruns, lost rows", `${overruns}, ${lost}`, lost > 0),
    ...Object.entries(tanks).map(([name, left]) => fact(`tank of ${words(name)}`, left === null ? "–" : `${left} N s`)),
  ];
  $("health").replaceChildren(...parts);
  // Not among them: what is replaced twice a second keeps no focus.
  $("step-table").replaceChildren(table(["step", "median", "99 %"], stepRows));
  $("steps").hidden = false;
}
