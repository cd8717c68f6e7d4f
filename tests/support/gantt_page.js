"use strict";
// Runs the script of a page of Gantt charts without a browser: `node gantt_page.js PAGE < steps.json`.
// Canvases note what is drawn on them. A step is one of: ["point", chart, x, y] (y below 0: from the end), ["wheel", chart, x, y, delta],
// ["drag", chart, from x, to x], ["key", chart, key], ["do", action], ["arrows", on], ["path", on]. Printed is a list, first of how the
// page begins, then after each step: the tip (or null), and of each chart what was drawn last and what it says below.
const fs = require("node:fs");
const vm = require("node:vm");

const page = fs.readFileSync(process.argv[2], "utf8");
const hash = process.argv[3] || "";
const steps = JSON.parse(fs.readFileSync(0, "utf8"));
const WIDTH = 1074;  // 74 of them beside the axis
const [, data] = page.match(/id="data">([^]*?)<\/script>/);
const [, script] = page.match(/<script>([^]*?)<\/script>/);

class Context {
  constructor(canvas) { this.canvas = canvas; }
  setTransform() { this.canvas.drawn = { bars: [], texts: [], lines: 0, marks: 0 }; }
  createImageData(width, height) { return { width, height, data: new Uint8ClampedArray(4 * width * height) }; }
  putImageData(image) { this.canvas.image = image; }
  // Rows of a picture, stretched: runs of pixels of one colour are bars; the red part is the state.
  drawImage({ image }, ...places) {
    const [from, rows, x, y, height] = places.length > 4 ? [places[1], places[3], places[4], places[5], places[7]]
      : [0, image.height, places[0], places[1], places[3]];
    const pixels = new Uint32Array(image.data.buffer);
    for (let row = 0; row < rows; row++) {
      const line = pixels.subarray((from + row) * image.width, (from + row + 1) * image.width);
      for (let begin = 0, end = 0; begin < line.length; begin = end) {
        while (end < line.length && line[end] === line[begin]) end++;
        const bar = { state: (line[begin] & 0xff) - 1, x: x + begin, y: y + row * height / rows, width: end - begin, height: height / rows };
        if (line[begin]) this.canvas.drawn.bars.push({ ...bar, faint: line[begin] >>> 24 < 0xff });
      }
    }
  }
  fillText(text, x, y) { this.canvas.drawn.texts.push({ text, x, y }); }
  fill() { this.canvas.drawn.marks += 1; }
  lineTo() { if (this.canvas.drawn) this.canvas.drawn.lines += 1; }
  createPattern() { return { stripes: true }; }
}
for (const name of ["fillRect", "strokeRect", "save", "restore", "beginPath", "rect", "clip", "moveTo", "stroke", "setLineDash"]) Context.prototype[name] = () => {};

class Element {
  constructor(id) {
    this.id = id;
    this.listeners = {};
    this.style = {};
    this.dataset = {};
    this.classList = { add() {}, remove() {} };
    this.clientWidth = WIDTH;
    this.offsetWidth = this.offsetHeight = 10;
    this.textContent = id === "data" ? data : id.startsWith("columns-") ? page.match(new RegExp(`id="${id}">([^<]*)<`))[1] : "";
    this.hidden = true;
    this.checked = false;
  }
  addEventListener(kind, listener) { (this.listeners[kind] ||= []).push(listener); }
  fire(kind, event = {}) { for (const listener of this.listeners[kind] || []) listener({ preventDefault() {}, ...event }); }
  setPointerCapture() {}
  getBoundingClientRect() { return { left: 0, top: 0, width: WIDTH, height: parseFloat(this.style.height) }; }
  getContext() { return (this.context ||= new Context(this)); }
}

const elements = new Map();
const byId = (id) => {
  if (!page.includes(`id="${id}"`)) return null;
  if (!elements.has(id)) elements.set(id, new Element(id));
  return elements.get(id);
};
const frames = [];
let drawn;
const isDrawn = new Promise((done) => { drawn = done; });
const world = {
  document: { getElementById: byId, createElement: () => new Element(""), documentElement: {} },
  getComputedStyle: () => ({ getPropertyValue: (name) => name.startsWith("--state-") ? `#0${Number(name.slice(8)) + 1}0000` : "#000000" }),
  performance: { mark: drawn }, Blob, Response, DecompressionStream,
  matchMedia: () => ({ matches: false, addEventListener() {} }),
  requestAnimationFrame: (frame) => frames.push(frame),
  addEventListener() {}, location: { hash }, innerWidth: 1200, innerHeight: 900, URLSearchParams, atob, devicePixelRatio: 1,
};
world.window = world;
vm.runInNewContext(script, world, { filename: "gantt.js" });

const count = JSON.parse(data).charts.length;
const charts = Array.from({ length: count }, (_, number) => byId(`canvas-${number}`));
function seen() {
  while (frames.length) frames.shift()();
  const tip = byId("tip");
  return {
    tip: tip.hidden ? null : tip.textContent,
    charts: charts.map((canvas, number) => ({ ...canvas.drawn, says: byId(`seen-${number}`).textContent, height: parseFloat(canvas.style.height) })),
  };
}

isDrawn.then(() => {
  const found = [seen()];
  for (const [what, ...more] of steps) {
    const canvas = charts[more[0]], high = parseFloat(canvas?.style?.height);
    const at = { clientX: more[1], clientY: more[2] < 0 ? high + more[2] : more[2], pointerId: 1 };
    if (what === "point") canvas.fire("pointermove", at);
    if (what === "wheel") canvas.fire("wheel", { ...at, deltaX: 0, deltaY: more[3], deltaMode: 0 });
    if (what === "drag") {
      canvas.fire("pointerdown", { ...at, clientY: 50 });
      canvas.fire("pointermove", { ...at, clientX: more[2], clientY: 50 });
      canvas.fire("pointerup", { ...at, clientX: more[2], clientY: 50 });
    }
    if (what === "key") canvas.fire("keydown", { key: more[1] });
    if (what === "do") byId("tools").fire("click", { target: { dataset: { do: more[0] } } });
    if (what === "arrows" || what === "path") { byId(what).checked = more[0]; byId(what).fire("change"); }
    found.push(seen());
  }
  process.stdout.write(JSON.stringify(found));
});
