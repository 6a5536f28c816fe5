'use strict';
(() => {
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
      this.series = this.data.series.filter(s => s.x.length > 0);
      this.steps = [...new Set(this.series.flatMap(s => s.x))].sort((a, b) => a - b);
      this.at = this.steps.length - 1;
      const plot = figure.querySelector('.plot');
      this.hair = element('div', 'hair', plot);
      this.spots = this.series.map(s => element('div', 'spot ' + s.class, plot));
      this.tip = element('div', 'tip', plot);
      this.hit = element('div', 'hit', plot);
      this.hit.tabIndex = 0;
      this.hit.setAttribute('role', 'group');
      this.hit.setAttribute('aria-label', figure.querySelector('h3').textContent + ': read values with the arrow keys');
      this.tip.setAttribute('role', 'status');
      this.hide();
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
    hide() { for (const part of [this.hair, this.tip, ...this.spots]) part.hidden = true; }
    // The crosshair at `step`; the values too where the pointer is.
    show(step, withValues) {
      const left = this.x(step);
      if (left < 0 || left > 1) return this.hide();  // a chart of the second half
      this.hair.hidden = false;
      this.hair.style.left = 100 * left + '%';
      this.tip.hidden = !withValues;
      if (withValues) this.tip.replaceChildren(this.data.x_name + ' ' + format(step));
      this.series.forEach((s, i) => this.mark(s, this.spots[i], step, withValues));
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
      element('span', '', row).textContent = s.name + (s.x[at] === step ? '' : ' at ' + format(s.x[at]));
      element('b', '', row).textContent = value === null ? 'not finite' : format(value);
    }
  }

  const charts = [...document.querySelectorAll('figure.chart')].map(figure => new Chart(figure));
  const showAll = chart => charts.filter(c => c.data.x_name === chart.data.x_name).forEach(c => c.show(chart.steps[chart.at], c === chart));
  const hideAll = () => charts.forEach(c => c.hide());
  for (const chart of charts) {
    const point = event => {
      const box = chart.hit.getBoundingClientRect();
      chart.at = nearest(chart.steps, chart.x_at((event.clientX - box.left) / box.width));
      showAll(chart);
    };
    chart.hit.addEventListener('pointermove', point);
    chart.hit.addEventListener('pointerdown', point);
    chart.hit.addEventListener('pointerleave', hideAll);
    chart.hit.addEventListener('focus', () => { if (chart.hit.matches(':focus-visible')) showAll(chart); });
    chart.hit.addEventListener('blur', hideAll);
    chart.hit.addEventListener('keydown', event => {
      const last = chart.steps.length - 1, far = Math.max(1, Math.round(last / 20));
      const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -far, PageDown: far, Home: -last, End: last };
      if (event.key === 'Escape') return hideAll();
      if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      chart.at = Math.min(last, Math.max(0, chart.at + moves[event.key] * (event.shiftKey ? far : 1)));
      showAll(chart);
    });
  }

  // A map of words: rows of [word, count, norm, x, y], by frequency; places in 0..1 from the upper left corner.
  for (const figure of document.querySelectorAll('figure.map')) {
    const words = JSON.parse(figure.querySelector('script').textContent);
    const plane = figure.querySelector('.plane'), find = figure.querySelector('input'), said = figure.querySelector('.find span');
    const spot = element('div', 'spot', plane), tip = element('div', 'tip', plane), hit = element('div', 'hit', plane);
    let at = -1;
    hit.tabIndex = 0;
    hit.setAttribute('role', 'group');
    hit.setAttribute('aria-label', figure.querySelector('h2').textContent + ': go through the words, the most frequent first, with the arrow keys');
    tip.setAttribute('role', 'status');
    const hide = () => { spot.hidden = tip.hidden = true; };
    const show = i => {
      at = i;
      const [word, count, norm, x, y] = words[i];
      spot.hidden = tip.hidden = false;
      spot.style.left = 100 * x + '%';
      spot.style.top = 100 * y + '%';
      tip.replaceChildren();
      element('b', '', tip).textContent = word;
      element('div', '', tip).textContent = format(count) + (count === 1 ? ' time' : ' times') + ', norm ' + format(norm);
      beside(tip, x);
      tip.style.top = y < 0.85 ? `calc(${100 * y}% + 0.5rem)` : 'auto';
      tip.style.bottom = y < 0.85 ? 'auto' : `calc(${100 - 100 * y}% + 0.5rem)`;
    };
    hide();
    const point = event => {
      const box = hit.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = 0, least = Infinity;
      words.forEach((w, i) => {
        const far = (w[3] * box.width - x) ** 2 + (w[4] * box.height - y) ** 2;
        if (far < least) least = far, best = i;
      });
      if (least < 40 * 40) show(best); else hide();
    };
    hit.addEventListener('pointermove', point);
    hit.addEventListener('pointerdown', point);
    hit.addEventListener('pointerleave', hide);
    hit.addEventListener('focus', () => { if (hit.matches(':focus-visible')) show(Math.max(at, 0)); });
    hit.addEventListener('blur', hide);
    hit.addEventListener('keydown', event => {
      const last = words.length - 1, moves = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, PageUp: -20, PageDown: 20, Home: -last, End: last };
      if (event.key === 'Escape') return hide();
      if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      show(Math.min(last, Math.max(0, at + moves[event.key])));
    });
    find.addEventListener('input', () => {
      const wanted = find.value.trim(), found = words.findIndex(w => w[0] === wanted);
      said.textContent = wanted === '' || found >= 0 ? '' : 'not among these words';
      if (found >= 0) show(found); else hide();
    });
  }
})();
