"use strict";
(async () => {
  // Draws timelines on canvases. Every row of pixels stands for one rank or for several; every column of it has the state
  // that took most of its time, so the work is bounded by pixels and by the intervals in view, however many there are.
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!("DecompressionStream" in globalThis)) return;  // a browser of before 2023: the overviews stay
  const TICKS = 4294967295, STATES = data.states.length, TOGETHER = 0x80;
  const LEFT = 74, TOP = 22, BOTTOM = 6, MOST_ARROWS = 1500;
  const INK = 0.06;  // share of the rows' area that arrows may cover, as lines one pixel wide
  const LINK = 10, ABOVE_LINKS = 8;  // heights of a strip of link load, and of the gap above the first
  const tip = document.getElementById("tip"), arrows = document.getElementById("arrows"), path = document.getElementById("path");

  // Columns of numbers, each as its bytes of least weight, then those of the next, and all deflated: see `_packed` in gantt.py.
  async function columnsOf(text) {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let index = 0; index < letters.length; index++) bytes[index] = letters.charCodeAt(index);
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(inflated).arrayBuffer());
    let from = 0;
    return (count, kind = Uint32Array) => {
      if (kind === Uint8Array) return planes.slice(from, from += count);
      const values = new Uint32Array(count), [one, two, three] = [from + count, from + 2 * count, from + 3 * count];
      for (let index = 0; index < count; index++) {
        values[index] = planes[from + index] | planes[one + index] << 8 | planes[two + index] << 16 | planes[three + index] << 24;
      }
      from += 4 * count;
      return new kind(values.buffer);
    };
  }

  // Times are stored as what lies between them: a sum over all is the time, whatever its sign, in whole numbers of 32 bits.
  function summed(gaps, lengths) {
    const ends = new Uint32Array(gaps.length);
    for (let index = 0, last = 0; index < gaps.length; index++) {
      gaps[index] += last;
      last = ends[index] = gaps[index] + lengths[index];
    }
    return [gaps, ends];
  }

  async function chartOf(one, number) {
    const next = await columnsOf(document.getElementById(`columns-${number}`).textContent);
    const first = next(one.ranks + 1), [start, end] = summed(next(one.pieces), next(one.pieces));
    const state = next(one.pieces, Uint8Array), peer = next(one.pieces, Int32Array), detail = next(one.pieces, Float32Array);
    const [left, arrived] = summed(next(one.messages), next(one.messages));
    const sender = next(one.messages, Int32Array), receiver = next(one.messages, Int32Array);
    return {
      ranks: one.ranks, seconds: one.seconds, name: one.name, links: one.links,
      first, start, end, state, peer, detail, left, arrived, sender, receiver,
      bytes: next(one.messages, Float32Array), loads: next(one.links.length * data.columns, Uint8Array),
      turns: next(one.turns), turnRanks: next(one.turns, Int32Array),
      crowded: false, pointed: null, cursor: null, span: null, image: null, drawn: "",
      canvas: document.getElementById(`canvas-${number}`), seen: document.getElementById(`seen-${number}`),
    };
  }

  const charts = await Promise.all(data.charts.map(chartOf));
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

  // Colours of the page; on paper those of a light one.
  let look = {}, onPaper = false;
  function readLook() {
    const style = getComputedStyle(onPaper ? document.getElementById("light") : document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    const states = data.states.map((_, state) => named(`--state-${state}`));
    look = {
      ink: named("--ink"), soft: named("--soft"), rule: named("--rule"), paper: named("--paper"), path: named("--path"), states,
      letters: states.map(inkOn), pixels: states.map((colour) => 0xff000000 | rgb(colour).reduceRight((sum, part) => sum << 8 | part, 0)),
    };
  }
  const rgb = (colour) => [1, 3, 5].map((from) => parseInt(colour.slice(from, from + 2), 16));

  // Black or white, whichever is easier to read on a colour (its relative luminance by WCAG 2).
  function inkOn(colour) {
    const [red, green, blue] = rgb(colour).map((part) => (part / 255) <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
  }

  // Marks beside colour: stripes for each state, laid over what is long and high enough. They leave letters legible.
  const STRIPES = {
    1: ["#ffffff60", [[-2, 2, 2, -2], [0, 8, 8, 0], [6, 10, 10, 6]]], 2: ["#ffffff60", [[-2, 6, 2, 10], [0, 0, 8, 8], [6, -2, 10, 2]]],
    3: ["#00000030", [[0, 2.5, 8, 2.5], [0, 6.5, 8, 6.5]]], 5: ["#00000030", [[2.5, 0, 2.5, 8], [6.5, 0, 6.5, 8]]],
  };
  function stripes(context, state) {
    if (!(state in STRIPES)) return null;
    const [colour, lines] = STRIPES[state], tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour;
    pen.lineWidth = 1.3;
    pen.beginPath();
    for (const [x, y, toX, toY] of lines) { pen.moveTo(x, y); pen.lineTo(toX, toY); }
    pen.stroke();
    return context.createPattern(tile, "repeat");
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
    const inner = width - LEFT, span = seconds(view.end - view.begin), rough = span / Math.max(2, inner / (inner < 400 ? 70 : 110));
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

  const PAPER_WIDTH = 700, PAPER_DENSITY = 3;  // of a printed chart

  function draw(chart) {
    const { canvas } = chart, width = onPaper ? PAPER_WIDTH : canvas.clientWidth, height = heightOf(chart);
    const dense = onPaper ? PAPER_DENSITY : window.devicePixelRatio || 1;
    if (!width) return;
    canvas.style.height = onPaper ? "auto" : `${height}px`;
    if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
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
    const isRanks = each >= 1, first = Math.floor(top);  // else a band is of several ranks
    const bands = isRanks ? Math.min(Math.ceil(rows + (top % 1 ? 1 : 0)), chart.ranks - first) : Math.floor(room);
    const high = isRanks ? each : room / bands, above = isRanks ? TOP + (first - top) * each : TOP;
    const ranksOf = (band) => isRanks ? [first + band, first + band + 1]
      : [Math.floor(top + band * rows / bands), Math.max(Math.floor(top + band * rows / bands) + 1, Math.floor(top + (band + 1) * rows / bands))];
    const isDrawn = [view.begin, view.end, top, rows, bands, columns, onPaper, look.paper].join();
    if (chart.drawn !== isDrawn) {
      chart.drawn = isDrawn;
      chart.image = imageOf(chart, bands, columns, ranksOf);
    }
    context.save();
    context.beginPath(); context.rect(0, TOP, width, room); context.clip();
    context.imageSmoothingEnabled = false;
    const gap = high >= 6 ? 1.5 : high >= 3 ? 0.5 : 0;
    if (!gap) context.drawImage(chart.image, LEFT, above, columns, bands * high);
    for (let band = 0; gap && band < bands; band++) {
      context.drawImage(chart.image, 0, band, columns, 1, LEFT, above + band * high, columns, high - gap);
    }
    if (isRanks && high >= 6) {
      const patterns = data.states.map((_, state) => stripes(context, state));
      for (let band = 0; band < bands; band++) drawMarks(chart, context, first + band, columns, above + band * high, high - gap, patterns);
    }
    chart.crowded = false;
    let words = "";
    if (arrows.checked) words = drawMessages(chart, context, width, top, each, rows, room);
    if (path.checked) drawPath(chart, context, width, top, each);
    if (chart.cursor) drawCursor(chart, context, columns, top, each);
    context.restore();
    if (chart.span) {
      context.fillStyle = context.strokeStyle = look.ink;
      const [from, to] = [Math.min(...chart.span), Math.max(...chart.span)];
      context.globalAlpha = 0.15; context.fillRect(from, TOP, to - from, room);
      context.globalAlpha = 1; context.strokeRect(from, TOP, to - from, room);
    }
    drawLinks(chart, context, width, height);
    drawRanks(chart, context, top, rows, each, room);
    if (chart.seen.textContent !== words) chart.seen.textContent = words;
  }

  // A picture with a pixel for each column of each band: what is drawn costs as much for a million intervals as for a few.
  function imageOf(chart, bands, columns, ranksOf) {
    const picture = chart.image || document.createElement("canvas");
    picture.width = columns;
    picture.height = bands;
    const context = picture.getContext("2d"), image = context.createImageData(columns, bands);
    const pixels = new Uint32Array(image.data.buffer), taken = new Float32Array(columns * STATES);
    for (let band = 0; band < bands; band++) {
      const [from, to] = ranksOf(band);
      if (from >= chart.ranks) break;
      taken.fill(0);
      for (let rank = from; rank < Math.min(to, chart.ranks); rank++) fill(chart, rank, taken, columns);
      drawRow(pixels.subarray(band * columns, (band + 1) * columns), taken, to - from);
    }
    context.putImageData(image, 0, 0);
    return picture;
  }

  // The state that took most of each column. One that is mostly idle is faint, and empty where next to nothing was there.
  function drawRow(pixels, taken, ranks) {
    for (let column = 0, place = 0; column < pixels.length; column++) {
      let most = 0, state = -1, sum = 0;
      for (let index = 0; index < STATES; index++, place++) {
        const value = taken[place];
        sum += value;
        if (value > most) { most = value; state = index; }
      }
      if (state < 0 || (sum < 0.02 * ranks && ranks > 1)) continue;
      pixels[column] = sum < 0.5 * ranks ? look.pixels[state] & 0xffffff | 0x80000000 : look.pixels[state];
    }
  }

  // Stripes of long intervals, an edge where each begins, and its state's letter where there is room.
  function drawMarks(chart, context, rank, columns, y, high, patterns) {
    const scale = columns / (view.end - view.begin), stop = chart.first[rank + 1];
    context.font = `600 ${Math.min(12, high - 2)}px system-ui, sans-serif`;
    context.textAlign = "center"; context.textBaseline = "middle";
    for (let index = at(chart, rank, view.begin); index < stop && chart.start[index] < view.end; index++) {
      const begin = (chart.start[index] - view.begin) * scale, end = Math.min(columns, (chart.end[index] - view.begin) * scale);
      if (end - begin < 4) continue;
      const middle = (Math.max(0, begin) + end) / 2, state = chart.state[index] & 0x7f;
      if (patterns[state]) {
        const from = Math.round(Math.max(0, begin));
        context.fillStyle = patterns[state];
        context.fillRect(LEFT + from, y, Math.round(end) - from, high);
      }
      if (begin > 0) { context.fillStyle = look.paper; context.fillRect(LEFT + Math.floor(begin), y, 1, high); }
      if (high < 12 || end - Math.max(0, begin) < 16) continue;
      context.fillStyle = look.letters[state];
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
    if (!chart.left.length) return "";
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
    return chart.crowded ? `${word}: point at a row for those of its rank, or zoom in.` : inView ? `${word}.` : "";
  }

  // The critical path: one line from rank to rank, of what is in view.
  function drawPath(chart, context, width, top, each) {
    if (!chart.turns.length) return;
    const inner = width - LEFT, scale = inner / (view.end - view.begin);
    context.save();
    context.beginPath(); context.rect(LEFT, TOP, inner, 1e6); context.clip();
    context.lineJoin = "round";
    for (const [colour, thickness] of [[look.paper, 5], [look.path, 2.5]]) {
      context.strokeStyle = colour;
      context.lineWidth = thickness;
      context.beginPath();
      for (let index = 1, last = 0; index < chart.turns.length; index++) {
        if (chart.turns[index] < view.begin || chart.turns[index - 1] > view.end) continue;
        for (const place of last === index - 1 && index > 1 ? [index] : [index - 1, index]) {
          const x = LEFT + (chart.turns[place] - view.begin) * scale, y = TOP + (chart.turnRanks[place] - top + 0.5) * each;
          if (place < index) context.moveTo(x, y); else context.lineTo(x, y);
        }
        last = index;
      }
      context.stroke();
    }
    context.restore();
  }

  // The interval that the keys have chosen.
  function drawCursor(chart, context, columns, top, each) {
    const { rank, index } = chart.cursor, scale = columns / (view.end - view.begin);
    const from = Math.max(-4, (chart.start[index] - view.begin) * scale), to = Math.min(columns + 4, (chart.end[index] - view.begin) * scale);
    context.lineWidth = 2;
    for (const [colour, outside] of [[look.paper, 1], [look.ink, 3]]) {
      context.strokeStyle = colour;
      context.strokeRect(LEFT + from - outside, TOP + (rank - top) * each - outside, Math.max(2, to - from) + 2 * outside, Math.max(2, each - 1.5) + 2 * outside);
    }
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
    const isNear = index < chart.first[rank + 1] && chart.start[index] <= tick + near && chart.end[index] >= tick - near;
    show([...lines, ...(isNear ? wordsOf(chart, index) : ["idle"])], event);
  }

  function wordsOf(chart, index) {
    const state = data.states[chart.state[index] & 0x7f], lasts = time(seconds(chart.end[index] - chart.start[index]));
    const when = `start ${time(seconds(chart.start[index]), 6)}, length ${lasts}`;
    if (chart.state[index] & TOGETHER) {
      return [`${chart.detail[index].toLocaleString("en")} short intervals, ${chart.peer[index] / 10} % ${state}`, when];
    }
    const peer = chart.peer[index] < 0 ? "" : ` ${state === "send" ? "to" : state === "receive" ? "from" : "with"} rank ${chart.peer[index]}`;
    return [`${state}${peer}${chart.detail[index] > 0 ? `, ${size(chart.detail[index])}` : ""}`, when];
  }

  // What the keys read: Enter chooses an interval, arrows go on to others, Escape ends it.
  function choose(chart, rank, index) {
    const least = chart.first[rank], most = chart.first[rank + 1] - 1;
    if (most < least) return;
    index = Math.max(least, Math.min(most, index));
    chart.cursor = { rank, index };
    const span = view.end - view.begin, from = chart.start[index], to = chart.end[index];
    if (to < view.begin + 0.02 * span || from > view.end - 0.02 * span) move(from - 0.1 * span);
    const rows = rowsInView(chart);
    if (rank < view.top || rank + 1 > view.top + rows) scroll(rank - rows / 2);
    const box = chart.canvas.getBoundingClientRect(), top = Math.min(view.top, Math.max(0, chart.ranks - rows));
    const across = Math.max(0, Math.min(1, (from - view.begin) / (view.end - view.begin))) * (box.width - LEFT);
    const down = (rank + 1 - top) / rows * roomOf(chart, box.height);
    show([`rank ${rank}`, ...wordsOf(chart, index)], { clientX: box.left + LEFT + across, clientY: box.top + TOP + down - 12 });
    redraw();
  }
  function forget(chart) {
    chart.cursor = chart.span = null;
    tip.hidden = true;
    redraw();
  }
  const nextRank = (chart, rank, step) => {
    let next = rank + step;
    while (next >= 0 && next < chart.ranks && chart.first[next] === chart.first[next + 1]) next += step;
    return next >= 0 && next < chart.ranks ? next : rank;
  };
  function read(chart, key) {
    const { rank, index } = chart.cursor;
    if (key === "ArrowLeft" || key === "ArrowRight") choose(chart, rank, index + (key === "ArrowLeft" ? -1 : 1));
    else if (key === "ArrowUp" || key === "ArrowDown") {
      const next = nextRank(chart, rank, key === "ArrowUp" ? -1 : 1);
      choose(chart, next, at(chart, next, chart.start[index]));
    } else return false;
    return true;
  }
  function press(chart, key) {
    if (key === "Escape") forget(chart);
    else if (key === "Enter" && !chart.cursor) {
      const first = Math.floor(Math.min(view.top, Math.max(0, chart.ranks - rowsInView(chart))));
      const rank = chart.first[first] < chart.first[first + 1] ? first : nextRank(chart, first, 1);
      choose(chart, rank, at(chart, rank, view.begin));
    } else if (!(chart.cursor && read(chart, key))) {
      if (!(key in KEYS)) return false;
      does[KEYS[key]]();
    }
    return true;
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
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top, across: box.width - LEFT, room: roomOf(chart, box.height) };
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { x, y, across, room } = place(event), delta = event.deltaY * (event.deltaMode === 1 ? 18 : 1);
      const factor = Math.exp(Math.max(-120, Math.min(120, delta)) * 0.003);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        move(view.begin + ((event.deltaX || delta) / across) * (view.end - view.begin));
      } else if (event.altKey) rows(factor, (y - TOP) / room);
      else zoom(factor, Math.max(0, Math.min(1, (x - LEFT) / across)));
      tip.hidden = true;
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
      const { x, y } = place(event);
      from = { x: event.clientX, y: event.clientY, begin: view.begin, top: view.top };
      if (event.shiftKey || y < TOP) chart.span = [Math.max(LEFT, x), Math.max(LEFT, x)];  // on the axis: a span to zoom to
      else canvas.classList.add("moving");
    });
    canvas.addEventListener("pointermove", (event) => {
      const { x, across, room } = place(event);
      if (pointers.has(event.pointerId)) pointers.set(event.pointerId, event);
      if (pointers.size === 2) {  // two fingers: zoom
        const [one, other] = [...pointers.values()], now = Math.max(8, Math.abs(one.clientX - other.clientX));
        chart.span = null;
        if (apart) zoom(apart / now, ((one.clientX + other.clientX) / 2 - (event.clientX - x) - LEFT) / across);
        apart = now;
      } else if (chart.span && pointers.size === 1) {
        chart.span[1] = Math.max(LEFT, Math.min(LEFT + across, x));
        tip.hidden = true;
        redraw();
      } else if (from && pointers.size === 1) {
        scroll(from.top - (event.clientY - from.y) / room * rowsInView(chart));
        move(from.begin - (event.clientX - from.x) / across * (view.end - view.begin));
        tip.hidden = true;
      } else if (!pointers.size) tell(chart, event);
    });
    const release = (event) => { pointers.delete(event.pointerId); from = null; apart = 0; canvas.classList.remove("moving"); };
    canvas.addEventListener("pointerup", (event) => {
      const { across } = place(event), span = chart.span;
      release(event);
      chart.span = null;
      if (span && Math.abs(span[1] - span[0]) > 4) {
        const [begin, end] = span.sort((one, other) => one - other).map((x) => view.begin + (x - LEFT) / across * (view.end - view.begin));
        move(begin, Math.max(64, end - begin));
      } else redraw();
    });
    canvas.addEventListener("pointercancel", (event) => { release(event); chart.span = null; redraw(); });
    canvas.addEventListener("pointerleave", () => { if (!chart.cursor) tip.hidden = true; point(chart, null); });
    canvas.addEventListener("blur", () => forget(chart));
    canvas.addEventListener("dblclick", () => zoom(0.5));
    canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && press(chart, event.key)) event.preventDefault();
    });
    canvas.hidden = false;
    document.getElementById(canvas.id.replace("canvas", "overview")).style.display = "none";
  }
  const tools = document.getElementById("tools");
  tools.hidden = false;
  document.getElementById("usage").hidden = false;
  tools.addEventListener("click", (event) => { const act = event.target.dataset.do; if (act) does[act](); });
  arrows.addEventListener("change", redraw);
  path.addEventListener("change", redraw);
  addEventListener("resize", redraw);
  const printed = (isPrinted) => { onPaper = isPrinted; readLook(); charts.forEach(draw); };
  addEventListener("beforeprint", () => printed(true));
  addEventListener("afterprint", () => printed(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readLook(); redraw(); });
  const named = new URLSearchParams(location.hash.slice(1));  // #from=0.2&to=0.3: a view to begin with, in shares of the axis
  readLook();
  if (named.has("from") && named.has("to")) {
    const [begin, end] = ["from", "to"].map((name) => Math.max(0, Math.min(1, Number(named.get(name)) || 0)) * TICKS);
    if (end > begin) { view.begin = begin; view.end = Math.max(end, begin + 64); }
  }
  charts.forEach(draw);
  performance.mark("drawn");  // for what measures or tests the page
})();
