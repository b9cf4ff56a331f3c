// What is wrong with the tab that is shown: controls cut by the window, over one another, or small for a finger; pale text.
() => {
  const isShown = (e) => e.checkVisibility() && e.getBoundingClientRect().width > 0;
  const parts = [...document.querySelectorAll("header *, .tab:not([hidden]) *")].filter(isShown);
  const name = (e) => e.id || e.getAttribute("aria-label") || e.textContent.trim().slice(0, 40);

  // Within the lists that scroll.
  const isInView = (e) => {
    const box = e.getBoundingClientRect();
    for (let p = e.parentElement; p; p = p.parentElement) {
      const room = p.getBoundingClientRect();
      const scrolls = ["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowY);
      if (scrolls && (box.bottom > room.bottom + 1 || box.top < room.top - 1)) return false;
    }
    return true;
  };
  const controls = parts.filter((e) => ["BUTTON", "SELECT", "INPUT"].includes(e.tagName) && isInView(e));
  const boxes = controls.map((e) => [e, e.getBoundingClientRect()]);
  const cut = boxes.filter(([, b]) => b.left < 0 || b.right > innerWidth + 1).map(([e]) => name(e));
  const overlapping = [];
  boxes.forEach(([e, a], i) => boxes.slice(i + 1).forEach(([f, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (!e.contains(f) && !f.contains(e) && across > 1 && down > 1) overlapping.push(`${name(e)} and ${name(f)}`);
  }));
  const isSmall = ([e, b]) => b.height < 43.5 || (e.tagName === "BUTTON" && b.width < 43.5);
  const small = boxes.filter(([e]) => !["checkbox", "radio"].includes(e.type)).filter(isSmall).map(([e]) => name(e));

  // Contrast as in WCAG 2.
  const rgba = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
  const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (e) => {
    for (let p = e; p; p = p.parentElement) {
      const colour = rgba(getComputedStyle(p).backgroundColor);
      if (colour[3] > 0.9) return colour;
    }
    return [255, 255, 255, 1];
  };
  const hasText = (e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const isPale = (e) => {
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  };
  const texts = parts.filter((e) => hasText(e) && !e.closest(":disabled, svg"));
  return { cut, overlapping, small, pale: texts.filter(isPale).map((e) => `${name(e)} ${getComputedStyle(e).color}`) };
}
