// Draws a scene without and with its robot. Of each view: its scale [pixels/m], and for each point of the robot, put into
// the page from where the view is, the distance to the nearest pixel that the robot changed, up to 3.
async ([shapes, sides, points]) => {
  const { sceneViews } = await import("/page/scene.js");
  const views = sceneViews(document.getElementById("views"), shapes, sides);
  const frame = (robot) => ({ robot, reference: false, points: new Float32Array(points), opening: [], closed: [], seen: [] });
  const painted = async () => { for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame); };
  const content = ({ canvas }) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  for (const view of views) view.show([frame(true)]);
  await painted();
  for (const view of views) view.show([frame(false)]);
  await painted();
  const empty = views.map(content);
  for (const view of views) view.show([frame(true)]);
  await painted();
  return views.map((view, v) => {
    const now = content(view), { width } = view.canvas, n = shapes.axes;
    const isChanged = (x, y) => [0, 1, 2, 3].some((k) => {
      const i = 4 * (y * width + x) + k;
      return now[i] !== empty[v][i];
    });
    const [{ x, y }, { clientWidth: w, clientHeight: h }] = [view.view, view.canvas];
    return { scale: view.scale, far: Array.from({ length: points.length / n }, (_, i) => {
      // The axes stand 34 pixels from the left and 20 from below; the middle of the view is in the middle of the rest.
      const [wx, wy] = view.axes.map((axis) => points[n * i + axis]);
      const px = 34 + (w - 34) / 2 + view.scale * (wx - x), py = (h - 20) / 2 - view.scale * (wy - y);
      let least = 3;
      for (let a = Math.floor(px) - 2; a <= px + 2; a += 1) {
        for (let b = Math.floor(py) - 2; b <= py + 2; b += 1) {
          const far = Math.max(Math.abs(a + 0.5 - px), Math.abs(b + 0.5 - py));
          if (a >= 0 && b >= 0 && a < width && b < h && isChanged(a, b)) least = Math.min(least, far);
        }
      }
      return least;
    }) };
  });
}
