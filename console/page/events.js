// A list of events, newest first, filtered by words and by level.
import { element, words } from "./dom.js";

const MOST = 500;
const LEVELS = { all: [], warnings: ["warning", "error"], errors: ["error"] };

export class EventList {
  constructor(list, search, levels, { newestFirst = true, clicked = null } = {}) {
    Object.assign(this, { list, search, levels, newestFirst, clicked });
    search.oninput = levels.onchange = () => this.#filter();
  }

  clear() { this.list.replaceChildren(); }

  add(events) {
    for (const { t_s, level, name, text } of events) {
      const item = element("li", { class: level }, element("span", {}, `${t_s.toFixed(2)} s`), element("b", { title: name }, words(name)), element("span", {}, text));
      if (this.clicked) { item.tabIndex = 0; item.onclick = () => this.clicked(t_s); item.onkeydown = (event) => { if (event.key === "Enter") item.click(); }; }
      if (this.newestFirst) this.list.prepend(item); else this.list.append(item);
    }
    while (this.newestFirst && this.list.childElementCount > MOST) this.list.lastChild.remove();
    this.#filter();
  }

  #filter() {
    const wanted = this.search.value.trim().toLowerCase(), levels = LEVELS[this.levels.value] ?? [];
    for (const item of this.list.children) {
      item.hidden = !item.textContent.toLowerCase().includes(wanted) || (levels.length > 0 && !levels.includes(item.className));
    }
  }
}
