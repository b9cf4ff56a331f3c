// Elements, and requests to the console.

export const $ = (id) => document.getElementById(id);

// An element with properties (`class`, `data-...`, `aria-...` as attributes) and children; text is never read as HTML.
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name in made && !name.includes("-")) made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const words = (name) => String(name).replaceAll("_", " ");

// A number for people: four digits, an exponent where it needs one; the float32 beside zero bounds it, and is zero.
export function digits(value, n = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size < 1e-30) return "0";
  return size < 1e-3 || size >= 1e6 ? Number(value.toPrecision(3)).toExponential() : String(Number(value.toPrecision(n)));
}

// Errors carry the console's own sentence, and where it names one the key.
export async function get(path, query = {}) {
  return checked(await fetch(`${path}?${new URLSearchParams(query)}`));
}

export async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  return (await checked(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }))).json();
}

async function checked(answer) {
  if (answer.ok) return answer;
  const text = await answer.text();
  let told = { text };
  try { told = JSON.parse(text); } catch { /* a sentence as it is */ }
  throw Object.assign(new Error(told.text || answer.statusText), { key: told.key });
}

// A button that stays pressed; `act(on)` is called when it changes.
export function toggle(button, act) {
  button.onclick = () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", on);
    act(on);
  };
}
