'use strict';
// Helpers of the page's scripts, which come one after the other, and the charts.
const format = v => {
  const size = Math.abs(v);
  return size !== 0 && (size < 1e-3 || size >= 1e9) ? v.toExponential(3).replace('e+', 'e') : v.toLocaleString('en-US', { maximumSignificantDigits: 6 });
};
const element = (tag, className, parent) => {
  const made = document.createElement(tag);
  made.className = className;
  parent.append(made);
  return made;
};
// The index of the number in `sorted` that is closest to `value`.
const nearest = (sorted, value) => {
  let low = 0, high = sorted.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] > value) high = middle; else low = middle;
  }
  return Math.abs(sorted[high] - value) < Math.abs(sorted[low] - value) ? high : low;
};

// Puts `tip` beside the place at `share` of its parent's width, within the window.
const beside = (tip, share) => {
  tip.style.left = '0px';
  const box = tip.parentElement.getBoundingClientRect(), width = tip.offsetWidth, at = share * box.width, edge = 4 - box.left;
  const left = share < 0.5 ? at + 12 : at - 12 - width;
  tip.style.left = Math.max(edge, Math.min(left, edge + document.documentElement.clientWidth - 8 - width)) + 'px';
};

class Chart {
  constructor(figure) {
    this.data = JSON.parse(figure.querySelector('script').textContent);
    this.all = this.data.series.filter(s => s.x.length > 0);
    this.series = this.all;  // without those that are switched off in the legend
    this.off = [];
    this.set_steps();
    this.at = this.steps.length - 1;
    const plot = figure.querySelector('.plot');
    this.hair = element('div', 'hair', plot);
    this.spots = this.all.map(s => element('div', 'spot ' + s.class, plot));
    this.tip = element('div', 'tip', plot);
    this.hit = element('div', 'hit', plot);
    this.hit.tabIndex = 0;
    this.hit.setAttribute('role', 'group');
    this.hit.setAttribute('aria-label', figure.querySelector('h3').textContent + ': read values with the arrow keys');
    this.tip.setAttribute('role', 'status');
    this.figure = figure;
    this.band = element('div', 'band', plot);
    this.whole = { xs: this.data.xs, ys: this.data.ys, log: this.data.log, x_log: this.data.x_log };
    this.range = null;  // of x, zoomed into
    this.desc = figure.querySelector('.plot desc');
    this.described = this.desc.textContent;
    this.empty = element('p', 'empty', plot);
    this.empty.textContent = 'Its curves are switched off in the legend.';
    this.empty.hidden = true;
    this.tools();
    this.hide();
  }
  set_steps() { this.steps = [...new Set((this.series.length > 0 ? this.series : this.all).flatMap(s => s.x))].sort((a, b) => a - b); }
  // Leaves out the curves of these names, and scales y to the others.
  leave_out(names) {
    const off = this.all.filter(s => names.has(s.name)), before = this.steps[this.at];
    if (off.length === this.off.length && off.every(s => this.off.includes(s))) return;
    this.off = off;
    this.series = this.all.filter(s => !names.has(s.name));
    this.set_steps();
    this.at = nearest(this.steps, before);
    this.empty.hidden = this.series.length > 0;
    this.figure.querySelectorAll('.legend li').forEach((item, i) => item.classList.toggle('off', names.has(this.data.series[i].name)));
    this.desc.textContent = this.described + (off.length > 0 ? ' Switched off in the legend: ' + off.map(s => s.name).join(', ') + '.' : '');
    this.fit();
  }
  place(value, [low, high], log) {
    return log ? (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low)) : (value - low) / (high - low);
  }
  x(step) { return this.place(step, this.data.xs, this.data.x_log); }
  y(value) { return this.place(value, this.data.ys, this.data.log); }
  // The x at that share of the width.
  x_at(share) {
    const [low, high] = this.data.xs;
    return this.data.x_log ? low * (high / low) ** share : low + (high - low) * share;
  }
  hide() { for (const part of [this.hair, this.tip, this.band, ...this.spots]) part.hidden = true; }

  // Buttons: axes, the whole range, and what can be taken away. A range is zoomed into by dragging over it, or by the keys + and -.
  tools() {
    const bar = element('div', 'tools', this.figure), title = this.figure.querySelector('h3').textContent;
    const button = (text, what, then) => {
      const made = element('button', '', bar);
      made.type = 'button';
      made.textContent = text;
      made.setAttribute('aria-label', what + ' of ' + title);
      made.addEventListener('click', () => then(made));
      return made;
    };
    const axis = (text, what, key, possible) => {
      if (!possible) return;
      const made = button(text, what, () => {
        this.data[key] = !this.data[key];
        made.setAttribute('aria-pressed', this.data[key]);
        this.fit();
      });
      made.setAttribute('aria-pressed', this.data[key]);
    };
    const ys = this.series.flatMap(s => s.y).filter(y => y !== null), positive = all => all.length > 0 && all.every(v => v > 0);
    axis('log y', 'logarithmic y axis', 'log', positive(ys));
    axis('log x', 'logarithmic x axis', 'x_log', positive(this.steps));
    this.out = button('whole range', 'the whole range', () => this.reset());
    this.out.hidden = true;
    button('SVG', 'download as SVG', () => this.save('svg', 'image/svg+xml', this.as_svg()));
    button('CSV', 'download as CSV', () => this.save('csv', 'text/csv', this.as_csv()));
  }
  reset() {
    Object.assign(this.data, this.whole);
    this.range = null;
    this.figure.querySelectorAll('.tools [aria-pressed]').forEach(b => b.setAttribute('aria-pressed', this.data[b.textContent === 'log x' ? 'x_log' : 'log']));
    this.fit();
  }
  // The range of x from one share of the width to another.
  zoom(from, to) {
    const xs = [this.x_at(Math.max(0, Math.min(from, to))), this.x_at(Math.min(1, Math.max(from, to)))];
    if (this.steps.filter(x => x >= xs[0] && x <= xs[1]).length < 2) return;
    this.range = xs;
    this.fit();
  }
  zoomed() { return this.range !== null || this.data.log !== this.whole.log || this.data.x_log !== this.whole.x_log; }
  // y covers what is within the range of x; then everything is drawn again.
  fit() {
    const [low, high] = this.range ?? this.whole.xs;
    this.data.xs = this.data.x_log && low <= 0 ? [this.steps.find(x => x > 0), high] : [low, high];
    if (this.range === null && this.data.log === this.whole.log && this.series.length === this.all.length) {
      this.data.ys = this.whole.ys;
    } else {
      let least = Infinity, most = -Infinity;
      for (const s of this.series) s.x.forEach((x, i) => {
        if (x < this.data.xs[0] || x > this.data.xs[1] || s.y[i] === null) return;
        least = Math.min(least, s.y[i]);
        most = Math.max(most, s.y[i]);
      });
      if (!(least <= most)) [least, most] = this.whole.ys;
      if (least === most) [least, most] = least > 0 ? [least / 1.1, most * 1.1] : [least - 1, most + 1];
      const room = 0.07;
      this.data.ys = this.data.log ? [least / (most / least) ** room, most * (most / least) ** room] : [least - room * (most - least), most + room * (most - least)];
    }
    this.out.hidden = !this.zoomed();
    this.figure.classList.toggle('zoomed', this.zoomed() || this.series.length < this.all.length);  // the ends' labels stand no more where curves end
    this.redraw();
    this.hide();
  }
  // Round numbers within a range.
  ticks([low, high], log, most) {
    const found = [];
    if (log && high / low >= 10) {
      for (const digits of [[1], [1, 3], [1, 2, 5]]) {
        const more = [];
        for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); ++e) for (const d of digits) if (d * 10 ** e >= low && d * 10 ** e <= high) more.push(Number(`${d}e${e}`));
        if (found.length === 0 || more.length <= most) found.splice(0, found.length, ...more);
      }
      const every = Math.ceil(found.length / most);
      return found.filter((_, i) => i % every === 0);
    }
    const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough)), step = unit * [1, 2, 5, 10].find(m => m * unit >= rough);
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-12); ++k) found.push(Number((k * step).toPrecision(12)));
    return found;
  }
  label(v) {
    const size = Math.abs(v);
    return size >= 1e6 ? Number((v / 1e6).toPrecision(4)) + 'M' : size >= 1e4 ? Number((v / 1e3).toPrecision(4)) + 'k' : size !== 0 && size < 1e-3 ? v.toExponential().replace('e-', 'e-') : String(Number(v.toPrecision(6)));
  }
  line(s, width, height) {
    let d = '', open = false;
    s.x.forEach((x, i) => {
      const at = this.x(x), y = s.y[i];
      if (y === null || at < -1e-9 || at > 1 + 1e-9) return void (open = false);
      const place = (width * at).toFixed(2) + ' ' + (height * (1 - this.y(y))).toFixed(2);
      d += s.scattered ? `M${place}h0` : (open ? 'L' : 'M') + place + (open ? '' : 'h0');
      open = true;
    });
    return d;
  }
  // The drawing's paths, in a box of that size: [class, d].
  paths(width, height) {
    const across = y => `M0 ${(height * (1 - this.y(y))).toFixed(2)}H${width}`, inside = y => this.y(y) >= 0 && this.y(y) <= 1;
    const all = [['grid', this.ticks(this.data.ys, this.data.log, 5).map(across).join('')]];
    for (const r of this.data.references) if (inside(r.y)) all.push(['reference', across(r.y)]);
    for (const strong of [false, true])
      for (const s of this.series) {
        if (s.dots !== strong) continue;
        all.push([(s.scattered ? 'scatter ' : strong ? 'line strong ' : 'line ') + s.class, this.line(s, width, height)]);
        if (!strong || s.x.length > 60) continue;
        const dots = this.line({ ...s, scattered: true }, width, height);
        all.push(['halo', dots], ['dot ' + s.class, dots]);
      }
    return all;
  }
  redraw() {
    const svg = this.figure.querySelector('.plot > svg'), [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
    svg.querySelectorAll('path').forEach(p => p.remove());
    for (const [name, d] of this.paths(width, height)) {
      const path = document.createElementNS(svg.namespaceURI, 'path');
      path.setAttribute('class', name);
      path.setAttribute('d', d);
      svg.append(path);
    }
    const ys = this.figure.querySelector('.ys'), xs = this.figure.querySelector('.xs'), name = xs.querySelector('em');
    const put = (parent, share, side, text) => { const span = element('span', '', parent); span.style[side] = 100 * share + '%'; span.textContent = text; };
    ys.replaceChildren();
    for (const y of this.ticks(this.data.ys, this.data.log, 5)) put(ys, 1 - this.y(y), 'top', this.label(y));
    xs.replaceChildren();
    for (const x of this.ticks(this.data.xs, this.data.x_log, 4)) put(xs, this.x(x), 'left', this.label(x));
    xs.append(name);
    this.figure.querySelectorAll('.reference-label').forEach((span, i) => {
      const y = this.y(this.data.references[i].y);
      span.style.top = 100 - 100 * y + '%';
      span.hidden = !(y >= 0 && y <= 1);
    });
  }
  // The chart by itself: colours as numbers, type of the drawing's own size, a legend.
  as_svg() {
    const width = 900, height = 360, left = 70, top = 60 + 20 * Math.ceil(this.series.length / 5), style = getComputedStyle(document.body), ink = style.color, ground = style.backgroundColor;
    const text = s => s.replace(/[&<>"]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
    const colour = name => { const e = element('i', name, this.figure), c = getComputedStyle(e).getPropertyValue('--c').trim(); e.remove(); return c || ink; };
    const write = (x, y, what, more = '') => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${ink}" unicode-bidi="plaintext" ${more}>${text(what)}</text>`;
    let out = `<svg xmlns="${this.figure.querySelector('.plot > svg').namespaceURI}" viewBox="0 0 ${width + left + 30} ${height + top + 60}" font-family="sans-serif" font-size="13"><title>${text(this.figure.querySelector('h3').textContent)}</title><rect width="100%" height="100%" fill="${ground}"/>`;
    out += write(left, 24, this.figure.querySelector('h3').textContent, 'font-size="17" font-weight="600"') + write(left, 44, this.figure.querySelector('figcaption p').textContent);
    this.series.forEach((s, i) => {
      const x = left + (i % 5) * 180, y = 64 + 20 * Math.floor(i / 5);
      out += `<path d="M${x} ${y - 4}h22" stroke="${colour(s.class)}" stroke-width="3"/>` + write(x + 28, y, s.name.length > 20 ? s.name.slice(0, 19) + '…' : s.name);
    });
    out += `<g transform="translate(${left} ${top})" fill="none">`;
    for (const [name, d] of this.paths(width, height)) {
      if (name === 'halo') continue;
      const stroke = name === 'grid' ? '#8888' : name === 'reference' ? ink : colour(name.split(' ').find(c => /^c\d/.test(c)));
      out += `<path d="${d}" stroke="${stroke}" stroke-width="${name.startsWith('scatter') ? 4 : name.startsWith('dot') ? 7 : name.includes('strong') ? 2.4 : name === 'grid' ? 0.6 : 1.5}" stroke-linecap="round"${name.includes('dash1') ? ' stroke-dasharray="7 4"' : name.includes('dash2') || name === 'reference' ? ' stroke-dasharray="2 4"' : ''}/>`;
    }
    out += '</g>';
    for (const y of this.ticks(this.data.ys, this.data.log, 5)) out += write(left - 8, top + height * (1 - this.y(y)) + 4, this.label(y), 'text-anchor="end"');
    for (const x of this.ticks(this.data.xs, this.data.x_log, 6)) out += write(left + width * this.x(x), top + height + 22, this.label(x), 'text-anchor="middle"');
    return out + write(left + width, top + height + 44, this.data.x_name, 'text-anchor="end"') + '</svg>\n';
  }
  // A line for each x that any curve has within the range, a column for each curve; where points of a curve share an x, as words do a count, a line for each of them.
  as_csv() {
    const quoted = s => /[",\n]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s, [low, high] = this.data.xs;
    const of = this.series.map(s => {
      const ys = new Map();
      s.x.forEach((x, i) => { if (ys.has(x)) ys.get(x).push(s.y[i]); else ys.set(x, [s.y[i]]); });
      return ys;
    });
    const lines = [[this.data.x_name, ...this.series.map(s => s.name)].map(quoted).join(',')];
    for (const x of this.steps) {
      if (x < low || x > high) continue;
      const here = of.map(ys => ys.get(x) ?? []), most = Math.max(...here.map(ys => ys.length));
      for (let i = 0; i < most; ++i) lines.push([x, ...here.map(ys => ys[i] ?? '')].join(','));
    }
    return lines.join('\n') + '\n';
  }
  save(kind, type, text) {
    const link = document.createElement('a');
    link.download = this.figure.querySelector('h3').textContent.toLowerCase().replace(/[^a-z0-9]+/g, '-') + '.' + kind;
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  // The crosshair at `step`; the values too where the pointer is.
  show(step, withValues) {
    const left = this.x(step);
    if (this.series.length === 0 || left < 0 || left > 1) return this.hide();  // a chart of the second half
    this.hair.hidden = false;
    this.hair.style.left = 100 * left + '%';
    this.tip.hidden = !withValues;
    if (withValues) this.tip.replaceChildren(this.data.x_name + ' ' + format(step));
    this.all.forEach((s, i) => { if (this.series.includes(s)) this.mark(s, this.spots[i], step, withValues); else this.spots[i].hidden = true; });
    if (withValues) beside(this.tip, left);
  }
  mark(s, spot, step, withValues) {
    const at = nearest(s.x, step), value = s.y[at];
    spot.hidden = value === null || !withValues;
    if (!spot.hidden) {
      spot.style.left = 100 * this.x(s.x[at]) + '%';
      spot.style.top = 100 - 100 * this.y(value) + '%';
    }
    if (!withValues) return;
    const row = element('div', s.class, this.tip);
    const name = element('span', '', row);
    element('bdi', '', name).textContent = s.name;
    if (s.x[at] !== step) name.append(' at ' + format(s.x[at]));
    element('b', '', row).textContent = value === null ? 'not finite' : format(value);
  }
}

const charts = [...document.querySelectorAll('figure.chart')].map(figure => new Chart(figure));
const showAll = chart => charts.filter(c => c.data.x_name === chart.data.x_name).forEach(c => c.show(chart.steps[chart.at], c === chart));
const hideAll = () => charts.forEach(c => c.hide());
for (const chart of charts) {
  const share = event => { const box = chart.hit.getBoundingClientRect(); return (event.clientX - box.left) / box.width; };
  let from = null;  // where a range to zoom into begins
  const point = event => {
    chart.at = nearest(chart.steps, chart.x_at(share(event)));
    showAll(chart);
    if (from === null) return;
    const [a, b] = [from, Math.max(0, Math.min(1, share(event)))].sort((x, y) => x - y);
    chart.band.hidden = b - a < 0.02;
    chart.band.style.left = 100 * a + '%';
    chart.band.style.width = 100 * (b - a) + '%';
  };
  chart.hit.addEventListener('pointermove', point);
  chart.hit.addEventListener('pointerdown', event => {
    point(event);
    if (event.button !== 0) return;
    from = Math.max(0, Math.min(1, share(event)));
    chart.hit.setPointerCapture(event.pointerId);
  });
  chart.hit.addEventListener('pointerup', event => {
    if (from !== null && Math.abs(share(event) - from) >= 0.02) chart.zoom(from, share(event));
    from = null;
    chart.band.hidden = true;
  });
  chart.hit.addEventListener('pointercancel', () => { from = null; hideAll(); });
  chart.hit.addEventListener('dblclick', () => chart.reset());
  chart.hit.addEventListener('pointerleave', () => { if (from === null) hideAll(); });
  chart.hit.addEventListener('focus', () => { if (chart.hit.matches(':focus-visible')) showAll(chart); });
  chart.hit.addEventListener('blur', hideAll);
  chart.hit.addEventListener('keydown', event => {
    const last = chart.steps.length - 1, far = Math.max(1, Math.round(last / 20));
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -far, PageDown: far, Home: -last, End: last };
    if (event.key === 'Escape') return hideAll();
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === '+' || event.key === '=') {
      const at = Math.max(0.25, Math.min(0.75, chart.x(chart.steps[chart.at])));
      chart.zoom(at - 0.25, at + 0.25);
      return showAll(chart);
    }
    if (event.key === '-') return chart.reset();
    if (!(event.key in moves)) return;
    event.preventDefault();
    chart.at = Math.min(last, Math.max(0, chart.at + moves[event.key] * (event.shiftKey ? far : 1)));
    showAll(chart);
  });
}
