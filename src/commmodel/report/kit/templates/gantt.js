"use strict";
(() => {
  // Draws timelines on canvases. Every row of pixels stands for one rank or for several; every column of it has the state
  // that took most of its time, so the work is bounded by pixels and by the intervals in view, however many there are.
  const data = JSON.parse(document.getElementById("data").textContent);
  const TICKS = 4294967295, STATES = data.states.length, TOGETHER = 0x80;
  const LEFT = 74, TOP = 22, BOTTOM = 6, MOST_ARROWS = 1500;
  const INK = 0.06;  // share of the rows' area that arrows may cover, as lines one pixel wide
  const LINK = 10, ABOVE_LINKS = 8;  // heights of a strip of link load, and of the gap above the first
  const tip = document.getElementById("tip"), arrows = document.getElementById("arrows");

  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const charts = data.charts.map((one, number) => ({
    ranks: one.ranks, seconds: one.seconds, name: one.name,
    first: new Uint32Array(bytesOf(one.first)), start: new Uint32Array(bytesOf(one.start)),
    end: new Uint32Array(bytesOf(one.end)), state: new Uint8Array(bytesOf(one.state)),
    peer: new Int32Array(bytesOf(one.peer)), detail: new Float32Array(bytesOf(one.detail)),
    sender: new Int32Array(bytesOf(one.sender)), receiver: new Int32Array(bytesOf(one.receiver)),
    bytes: new Float32Array(bytesOf(one.bytes)), left: new Uint32Array(bytesOf(one.left)),
    arrived: new Uint32Array(bytesOf(one.arrived)), links: one.links, loads: new Uint8Array(bytesOf(one.loads)),
    crowded: false, pointed: null,
    canvas: document.getElementById(`canvas-${number}`), seen: document.getElementById(`seen-${number}`),
  }));
  const mostRanks = Math.max(...charts.map((one) => one.ranks));
  // What is in view: times in ticks, ranks as rows; the same for all charts.
  const view = { begin: 0, end: TICKS, top: 0, rows: mostRanks };

  const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"], [1e-12, "ps"]];
  const SIZES = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
  const trimmed = (value, digits) => String(Number(value.toPrecision(digits)));
  function time(seconds, digits = 4) {
    const size = Math.abs(seconds);
    const [factor, unit] = UNITS.find(([least]) => size >= least * 0.99995) || UNITS[UNITS.length - 1];
    return size === 0 ? "0 s" : `${trimmed(seconds / factor, digits)} ${unit}`;
  }
  function size(bytes) {
    const [factor, unit] = SIZES.find(([least]) => bytes >= least) || SIZES[SIZES.length - 1];
    return `${trimmed(bytes / factor, 4)} ${unit}`;
  }
  const seconds = (ticks) => ticks / TICKS * data.seconds;

  let look = {};
  function readLook() {
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    look = {
      ink: named("--ink"), soft: named("--soft"), rule: named("--rule"), paper: named("--paper"), panel: named("--panel"),
      states: data.states.map((_, state) => named(`--state-${state}`)),
      letter: matchMedia("(prefers-color-scheme: dark)").matches ? "#15181c" : "#ffffff",
    };
  }

  // Marks beside colour: a stripe pattern for each state, laid over rows that are high enough.
  function stripes(context, state) {
    const side = 8, tile = document.createElement("canvas");
    tile.width = tile.height = side;
    const pen = tile.getContext("2d");
    pen.strokeStyle = "rgba(0,0,0,0.22)";
    pen.lineWidth = 1.3;
    pen.beginPath();
    if (state === 1) { pen.moveTo(-2, 2); pen.lineTo(2, -2); pen.moveTo(0, 8); pen.lineTo(8, 0); pen.moveTo(6, 10); pen.lineTo(10, 6); }
    if (state === 2) { pen.moveTo(-2, 6); pen.lineTo(2, 10); pen.moveTo(0, 0); pen.lineTo(8, 8); pen.moveTo(6, -2); pen.lineTo(10, 2); }
    if (state === 5) { pen.moveTo(2.5, 0); pen.lineTo(2.5, 8); pen.moveTo(6.5, 0); pen.lineTo(6.5, 8); }
    if (state === 3) { pen.moveTo(0, 2.5); pen.lineTo(8, 2.5); pen.moveTo(0, 6.5); pen.lineTo(8, 6.5); }
    pen.stroke();
    return [1, 2, 3, 5].includes(state) ? context.createPattern(tile, "repeat") : null;
  }

  // The last interval of a rank that begins at or before a time, or the rank's first.
  function at(chart, rank, ticks) {
    let low = chart.first[rank], high = chart.first[rank + 1];
    const begin = low;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (chart.start[middle] <= ticks) low = middle + 1; else high = middle;
    }
    return Math.max(begin, low - 1);
  }

  function rowsInView(chart) { return Math.min(view.rows, chart.ranks); }
  const linkRoom = (chart) => chart.links.length ? ABOVE_LINKS + LINK * chart.links.length : 0;
  const roomOf = (chart, height) => height - TOP - BOTTOM - linkRoom(chart);
  function heightOf(chart) {
    const each = Math.max(1, Math.min(22, Math.floor(420 / charts.length ** 0.5 / Math.max(1, rowsInView(chart)))));
    return TOP + BOTTOM + linkRoom(chart) + Math.max(60, Math.min(rowsInView(chart) * each, Math.round(520 / charts.length ** 0.5)));
  }

  function drawTimes(chart, context, width, height) {
    const inner = width - LEFT, span = seconds(view.end - view.begin), rough = span / Math.max(2, inner / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough);
    const from = seconds(view.begin), digits = Math.max(3, Math.ceil(Math.log10(Math.max(1, (from + span) / step))) + 1);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    for (let index = Math.ceil(from / step); index * step <= from + span; index++) {
      const x = Math.round(LEFT + (index * step - from) / span * inner) + 0.5;
      context.strokeStyle = look.rule;
      context.lineWidth = 1;
      context.beginPath(); context.moveTo(x, TOP - 4); context.lineTo(x, height - BOTTOM); context.stroke();
      if (x < width - 24) { context.fillStyle = look.soft; context.fillText(time(index * step, digits), x, TOP - 8); }
    }
    const last = LEFT + (chart.seconds - from) / span * inner;
    if (last >= LEFT && last <= width) {
      context.strokeStyle = look.ink;
      context.setLineDash([4, 3]);
      context.beginPath(); context.moveTo(last - 0.5, TOP - 4); context.lineTo(last - 0.5, height - BOTTOM); context.stroke();
      context.setLineDash([]);
    }
  }

  // Adds what a rank's intervals in view take of each column.
  function fill(chart, rank, taken, columns) {
    const scale = columns / (view.end - view.begin), stop = chart.first[rank + 1];
    for (let index = at(chart, rank, view.begin); index < stop && chart.start[index] < view.end; index++) {
      const begin = Math.max(0, (chart.start[index] - view.begin) * scale);
      const end = Math.min(columns, (chart.end[index] - view.begin) * scale);
      if (end < begin) continue;
      const state = chart.state[index] & 0x7f;
      let column = Math.min(columns - 1, Math.floor(begin));
      if (end <= column + 1) { taken[column * STATES + state] += end - begin; continue; }
      taken[column * STATES + state] += column + 1 - begin;
      for (column++; column + 1 <= end; column++) taken[column * STATES + state] += 1;
      if (column < columns) taken[column * STATES + state] += end - column;
    }
  }

  function draw(chart) {
    const { canvas } = chart, width = canvas.clientWidth, height = heightOf(chart), dense = window.devicePixelRatio || 1;
    if (!width) return;
    if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
      canvas.style.height = `${height}px`;
      canvas.width = Math.round(width * dense);
      canvas.height = Math.round(height * dense);
    }
    const context = canvas.getContext("2d");
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.fillStyle = look.paper;
    context.fillRect(0, 0, width, height);
    drawTimes(chart, context, width, height);

    const columns = Math.max(1, Math.floor(width - LEFT)), room = roomOf(chart, height), rows = rowsInView(chart);
    const top = Math.min(view.top, Math.max(0, chart.ranks - rows)), each = room / rows;
    const taken = new Float32Array(columns * STATES), gap = each >= 6 ? 1.5 : each >= 3 ? 0.5 : 0;
    const patterns = data.states.map((_, state) => each >= 6 ? stripes(context, state) : null);
    const bands = each >= 1 ? Math.ceil(rows + (top % 1 ? 1 : 0)) : Math.floor(room);
    context.save();
    context.beginPath(); context.rect(0, TOP, width, room); context.clip();
    for (let band = 0; band < bands; band++) {
      const from = each >= 1 ? Math.floor(top) + band : Math.floor(top + band * rows / bands);
      const to = each >= 1 ? from + 1 : Math.max(from + 1, Math.floor(top + (band + 1) * rows / bands));
      if (from >= chart.ranks) break;
      taken.fill(0);
      for (let rank = from; rank < Math.min(to, chart.ranks); rank++) fill(chart, rank, taken, columns);
      const y = each >= 1 ? TOP + (from - top) * each : TOP + band * room / bands, high = (each >= 1 ? each : room / bands) - gap;
      drawRow(context, taken, columns, to - from, y, high, patterns);
      if (each >= 6) drawMarks(chart, context, from, columns, y, high);
    }
    chart.crowded = false;
    if (arrows.checked) drawMessages(chart, context, width, top, each, rows, room);
    context.restore();
    drawLinks(chart, context, width, height);
    drawRanks(chart, context, top, rows, each, room);
    if (!arrows.checked) chart.seen.textContent = "";
  }

  function drawRow(context, taken, columns, ranks, y, high, patterns) {
    let run = -1, begin = 0, faint = false;
    const finish = (end) => {
      if (run < 0) return;
      context.globalAlpha = faint ? 0.5 : 1;
      context.fillStyle = look.states[run];
      context.fillRect(LEFT + begin, y, end - begin, high);
      if (patterns[run]) { context.fillStyle = patterns[run]; context.fillRect(LEFT + begin, y, end - begin, high); }
      context.globalAlpha = 1;
    };
    for (let column = 0; column < columns; column++) {
      let most = 0, state = -1, sum = 0;
      for (let one = 0; one < STATES; one++) {
        const value = taken[column * STATES + one];
        sum += value;
        if (value > most) { most = value; state = one; }
      }
      // a column that is mostly idle is drawn faint, and left empty where next to nothing was there
      const now = sum < 0.5 * ranks;
      if (sum < 0.02 * ranks && ranks > 1) state = -1;
      if (state !== run || now !== faint) { finish(column); run = state; begin = column; faint = now; }
    }
    finish(columns);
  }

  // An edge where an interval begins, and its state's letter where there is room.
  function drawMarks(chart, context, rank, columns, y, high) {
    const scale = columns / (view.end - view.begin), stop = chart.first[rank + 1];
    context.font = `600 ${Math.min(12, high - 2)}px system-ui, sans-serif`;
    context.textAlign = "center"; context.textBaseline = "middle";
    for (let index = at(chart, rank, view.begin); index < stop && chart.start[index] < view.end; index++) {
      const begin = (chart.start[index] - view.begin) * scale, end = Math.min(columns, (chart.end[index] - view.begin) * scale);
      if (end - begin < 4) continue;
      if (begin > 0) { context.fillStyle = look.paper; context.fillRect(LEFT + Math.floor(begin), y, 1, high); }
      const middle = (Math.max(0, begin) + end) / 2, state = chart.state[index] & 0x7f;
      if (high < 12 || end - Math.max(0, begin) < 16) continue;
      context.fillStyle = state >= 3 ? "#22262b" : look.letter;
      context.fillText(data.letters[state], LEFT + middle, y + high / 2 + 0.5);
    }
  }

  function drawRanks(chart, context, top, rows, each, room) {
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right"; context.textBaseline = "middle";
    context.fillStyle = look.soft;
    let step = 1;
    for (const factor of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536]) { step = factor; if (each * factor >= 14) break; }
    for (let rank = Math.ceil(Math.floor(top) / step) * step; rank < Math.min(chart.ranks, top + rows); rank += step) {
      const y = TOP + (rank - top + 0.5) * each;
      if (y >= TOP && y <= TOP + room) context.fillText(step === 1 ? `rank ${rank}` : String(rank), LEFT - 8, y);
    }
  }

  // The load of the busiest links: the stronger the colour, the fuller the link.
  function drawLinks(chart, context, width, height) {
    const inner = width - LEFT, ticks = TICKS / data.columns, top = TOP + roomOf(chart, height) + ABOVE_LINKS;
    context.font = "10px system-ui, sans-serif";
    context.textAlign = "right"; context.textBaseline = "middle";
    chart.links.forEach((name, row) => {
      const y = top + row * LINK;
      context.fillStyle = look.soft;
      context.fillText(name.length > 12 ? `${name.slice(0, 11)}…` : name, LEFT - 8, y + LINK / 2);
      context.fillStyle = look.states[0];
      const load = (column) => chart.loads[row * data.columns + column];
      const x = (column) => Math.round(Math.max(0, Math.min(inner, (column * ticks - view.begin) / (view.end - view.begin) * inner)));
      const from = Math.floor(view.begin / ticks), to = Math.min(data.columns, Math.ceil(view.end / ticks));
      for (let column = from; column < to;) {  // equal loads side by side are one piece, without seams
        let next = column + 1;
        while (next < to && load(next) === load(column)) next++;
        context.globalAlpha = load(column) / 255;
        context.beginPath(); context.rect(LEFT + x(column), y, x(next) - x(column), LINK - 2);
        if (load(column)) context.fill();
        column = next;
      }
      context.globalAlpha = 1;
    });
  }

  function drawMessages(chart, context, width, top, each, rows, room) {
    if (!chart.left.length) return;
    const inner = width - LEFT, scale = inner / (view.end - view.begin), found = [], pointed = chart.pointed, own = [];
    const across = (ticks) => (ticks - view.begin) * scale, down = (rank) => (rank - top + 0.5) * each;
    let inView = 0, ink = 0;
    for (let index = 0; index < chart.left.length; index++) {
      if (chart.left[index] > view.end || chart.arrived[index] < view.begin) continue;
      const sender = chart.sender[index] - top, receiver = chart.receiver[index] - top;
      if (Math.max(sender, receiver) < 0 || Math.min(sender, receiver) >= rows) continue;
      inView++;
      if (inView <= MOST_ARROWS) {
        found.push(index);
        const begin = Math.max(0, across(chart.left[index])), end = Math.min(inner, across(chart.arrived[index]));
        ink += Math.hypot(end - begin, Math.min(room, Math.abs(sender - receiver) * each));
      }
      if (pointed && (chart.sender[index] === pointed.rank || chart.receiver[index] === pointed.rank)
        && chart.left[index] <= pointed.tick && chart.arrived[index] >= pointed.tick) own.push(index);
    }
    chart.crowded = inView > MOST_ARROWS || each < 3 || ink > INK * inner * room;
    const word = `${inView.toLocaleString("en")} message${inView === 1 ? "" : "s"} in view`;
    chart.seen.textContent = chart.crowded ? `${word}: point at a row for those of its rank, or zoom in.` : inView ? `${word}.` : "";
    context.save();
    context.beginPath(); context.rect(LEFT, TOP, inner, 1e6); context.clip();
    context.lineWidth = chart.crowded ? 1.5 : 1;
    context.globalAlpha = chart.crowded ? 0.9 : 0.75;
    for (const index of chart.crowded ? own.slice(0, MOST_ARROWS) : found) {
      context.strokeStyle = context.fillStyle = look.ink;
      const x0 = LEFT + across(chart.left[index]), x1 = LEFT + across(chart.arrived[index]);
      const y0 = TOP + down(chart.sender[index]), y1 = TOP + down(chart.receiver[index]);
      context.beginPath(); context.moveTo(x0, y0); context.lineTo(x1, y1); context.stroke();
      const angle = Math.atan2(y1 - y0, x1 - x0), head = Math.min(7, 2 + each / 4);
      context.beginPath(); context.moveTo(x1, y1);
      context.lineTo(x1 - head * Math.cos(angle - 0.4), y1 - head * Math.sin(angle - 0.4));
      context.lineTo(x1 - head * Math.cos(angle + 0.4), y1 - head * Math.sin(angle + 0.4));
      context.fill();
    }
    context.restore();
  }

  let asked = false;
  function redraw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; charts.forEach(draw); });
  }

  function zoom(factor, share = 0.5) {
    const span = view.end - view.begin, next = Math.min(TICKS, Math.max(64, span * factor));
    move(view.begin + (span - next) * share, next);
  }
  function move(begin, span = view.end - view.begin) {
    view.begin = Math.max(0, Math.min(TICKS - span, begin));
    view.end = view.begin + span;
    redraw();
  }
  function rows(factor, share = 0.5) {
    const next = Math.max(Math.min(4, mostRanks), Math.min(mostRanks, view.rows * factor));
    scroll(view.top + (view.rows - next) * share, next);
  }
  function scroll(top, count = view.rows) {
    view.rows = count;
    view.top = Math.max(0, Math.min(mostRanks - count, top));
    redraw();
  }
  function everything() { view.begin = 0; view.end = TICKS; view.top = 0; view.rows = mostRanks; redraw(); }
  const does = {
    in: () => zoom(0.5), out: () => zoom(2), all: everything, taller: () => rows(0.5), flatter: () => rows(2),
    earlier: () => move(view.begin - 0.25 * (view.end - view.begin)), later: () => move(view.begin + 0.25 * (view.end - view.begin)),
    up: () => scroll(view.top - 0.25 * view.rows), down: () => scroll(view.top + 0.25 * view.rows),
  };
  const KEYS = {
    "+": "in", "=": "in", "-": "out", "0": "all", Home: "all", ArrowLeft: "earlier", ArrowRight: "later",
    ArrowUp: "up", ArrowDown: "down", PageUp: "up", PageDown: "down", "]": "taller", "[": "flatter",
  };

  function tell(chart, event) {
    const box = chart.canvas.getBoundingClientRect(), x = event.clientX - box.left - LEFT, y = event.clientY - box.top - TOP;
    const room = roomOf(chart, box.height), shown = rowsInView(chart);
    const rank = Math.floor(Math.min(view.top, Math.max(0, chart.ranks - shown)) + y / room * shown);
    const tick = view.begin + x / (box.width - LEFT) * (view.end - view.begin);
    const link = Math.floor((y - room - ABOVE_LINKS) / LINK);
    if (x >= 0 && link >= 0 && link < chart.links.length) {
      const column = Math.min(data.columns - 1, Math.floor(tick / TICKS * data.columns));
      show([chart.links[link], `load ${trimmed(chart.loads[link * data.columns + column] / 2.55, 2)} % at ${time(seconds(tick))}`], event);
      point(chart, null);
      return;
    }
    if (x < 0 || y < 0 || y >= room || rank >= chart.ranks) { tip.hidden = true; point(chart, null); return; }
    point(chart, { rank, tick });
    const index = at(chart, rank, tick);
    const lines = [`rank ${rank} at ${time(seconds(tick))}`];
    // within two pixels of an interval's end is near enough to one that is thin
    const near = 2 / (box.width - LEFT) * (view.end - view.begin);
    if (index < chart.first[rank + 1] && chart.start[index] <= tick + near && chart.end[index] >= tick - near) {
      const state = data.states[chart.state[index] & 0x7f], length = seconds(chart.end[index] - chart.start[index]);
      if (chart.state[index] & TOGETHER) {
        lines.push(`${chart.detail[index].toLocaleString("en")} short intervals, ${chart.peer[index] / 10} % ${state}`);
      } else {
        const peer = chart.peer[index] < 0 ? "" : ` ${state === "send" ? "to" : state === "receive" ? "from" : "with"} rank ${chart.peer[index]}`;
        lines.push(`${state}${peer}${chart.detail[index] > 0 ? `, ${size(chart.detail[index])}` : ""}`);
      }
      lines.push(`start ${time(seconds(chart.start[index]), 6)}, length ${time(length)}`);
    } else lines.push("idle");
    show(lines, event);
  }

  // Messages of the rank pointed at are drawn where there are too many to draw all.
  function point(chart, pointed) {
    const again = chart.crowded && (pointed || chart.pointed);
    chart.pointed = pointed;
    if (again) redraw();
  }

  function show(lines, event) {
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 18}px`;
  }

  for (const chart of charts) {
    const { canvas } = chart, pointers = new Map();
    let from = null, apart = 0;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect(), delta = event.deltaY * (event.deltaMode === 1 ? 18 : 1);
      const factor = Math.exp(Math.max(-120, Math.min(120, delta)) * 0.003), across = box.width - LEFT;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        move(view.begin + ((event.deltaX || delta) / across) * (view.end - view.begin));
      } else if (event.altKey) rows(factor, (event.clientY - box.top - TOP) / roomOf(chart, box.height));
      else zoom(factor, Math.max(0, Math.min(1, (event.clientX - box.left - LEFT) / across)));
      tip.hidden = true;
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
      from = { x: event.clientX, y: event.clientY, begin: view.begin, top: view.top };
      canvas.classList.add("moving");
    });
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect(), across = box.width - LEFT;
      if (pointers.has(event.pointerId)) pointers.set(event.pointerId, event);
      if (pointers.size === 2) {  // two fingers: zoom
        const [one, other] = [...pointers.values()], now = Math.max(8, Math.abs(one.clientX - other.clientX));
        if (apart) zoom(apart / now, ((one.clientX + other.clientX) / 2 - box.left - LEFT) / across);
        apart = now;
      } else if (from && pointers.size === 1) {
        const room = roomOf(chart, box.height);
        scroll(from.top - (event.clientY - from.y) / room * rowsInView(chart));
        move(from.begin - (event.clientX - from.x) / across * (view.end - view.begin));
        tip.hidden = true;
      } else tell(chart, event);
    });
    const release = (event) => { pointers.delete(event.pointerId); from = null; apart = 0; canvas.classList.remove("moving"); };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; point(chart, null); });
    canvas.addEventListener("dblclick", () => zoom(0.5));
    canvas.addEventListener("keydown", (event) => {
      if (event.key in KEYS && !event.ctrlKey && !event.metaKey) { event.preventDefault(); does[KEYS[event.key]](); }
    });
    canvas.hidden = false;
    document.getElementById(canvas.id.replace("canvas", "overview")).style.display = "none";
  }
  const tools = document.getElementById("tools");
  tools.hidden = false;
  document.getElementById("usage").hidden = false;
  tools.addEventListener("click", (event) => { const act = event.target.dataset.do; if (act) does[act](); });
  arrows.addEventListener("change", redraw);
  addEventListener("resize", redraw);
  addEventListener("beforeprint", () => charts.forEach(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readLook(); redraw(); });
  const named = new URLSearchParams(location.hash.slice(1));  // #from=0.2&to=0.3: a view to begin with, in shares of the axis
  readLook();
  if (named.has("from") && named.has("to")) {
    const [begin, end] = ["from", "to"].map((name) => Math.max(0, Math.min(1, Number(named.get(name)) || 0)) * TICKS);
    if (end > begin) { view.begin = begin; view.end = Math.max(end, begin + 64); }
  }
  charts.forEach(draw);
})();
