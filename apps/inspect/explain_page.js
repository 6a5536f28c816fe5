'use strict';
(() => {
  const D = JSON.parse(document.getElementById('data').textContent);
  const P = Object.fromEntries(D.sliders.map(s => [s.name, s.value]));
  const state = { h: [...D.h], w: D.w.map(w => [...w]), P, T: 1, margin: D.margin, target: 0 };
  const finite = x => Number.isFinite(x) ? x : 0;

  // ---- What the page computes; NINE is generated from the kernel's formula. ----

  // S of a part of w and a part of h, with its gradients.
  const pair = (f, w, h, P) => {
    const z = w[0] * h[0] + w[1] * h[1], e = [w[0] - h[0], w[1] - h[1]], q = e[0] * e[0] + e[1] * e[1];
    const ww = w[0] * w[0] + w[1] * w[1], hh = h[0] * h[0] + h[1] * h[1], lw = Math.sqrt(ww), lh = Math.sqrt(hh);
    const c = ww > 0 && hh > 0 ? Math.max(-1, Math.min(1, z / (lw * lh))) : 0;
    const out = f.run(z, q, ww, hh, c, 2, f.names.map(n => n === 'lw' ? w[2] : n === 'lh' ? h[2] : P[n]));
    const [by_z, by_q, by_ww, by_hh, by_c] = out.slice(1, 6).map(finite);
    const turn = Math.abs(c) < 1 && lw > 0 && lh > 0 ? by_c : 0, u = w.map(x => lw > 0 ? x / lw : 0), v = h.map(x => lh > 0 ? x / lh : 0);
    const dw = [], dh = [];
    for (let k = 0; k < 2; ++k) {
      dw[k] = by_z * h[k] + 2 * by_q * e[k] + 2 * by_ww * w[k] + (turn === 0 ? 0 : turn * (v[k] - c * u[k]) / lw);
      dh[k] = by_z * w[k] - 2 * by_q * e[k] + 2 * by_hh * h[k] + (turn === 0 ? 0 : turn * (u[k] - c * v[k]) / lh);
    }
    if (D.size > 2) {
      dw[2] = finite(out[6]);
      dh[2] = finite(out[7]);
    }
    return { S: out[0], dw, dh };
  };
  const part = (x, i) => x.slice(i * D.size, (i + 1) * D.size);
  // The score of whole vectors, as the kernel joins their parts.
  const score = (f, w, h, P) => {
    if (D.parts === 1) return pair(f, w, h, P);
    const pairs = [];
    for (let i = 0; i < D.parts; ++i)
      for (let j = 0; j < D.parts; ++j) pairs.push({ i, j, ...pair(f, part(w, i), part(h, j), P) });
    const top = Math.max(...pairs.map(p => p.S)), total = pairs.reduce((t, p) => t + Math.exp(p.S - top), 0);
    const mixture = D.combine === 'mixture', dw = w.map(() => 0), dh = h.map(() => 0);
    for (const p of pairs) {
      const weight = mixture ? Math.exp(p.S - top) / total : 1;
      for (let k = 0; k < D.size; ++k) {
        dw[p.i * D.size + k] += weight * p.dw[k];
        dh[p.j * D.size + k] += weight * p.dh[k];
      }
    }
    return { S: mixture ? top + Math.log(total / pairs.length) : pairs.reduce((t, p) => t + p.S, 0), dw, dh };
  };
  // Scores, probabilities, the loss and its exact gradients.
  const compute = s => {
    const of = s.w.map((w, v) => score(v === s.target ? NINE[s.margin] : NINE.score, w, s.h, s.P)), S = of.map(o => o.S);
    const x = S.map(y => y / s.T), top = Math.max(...x), total = x.reduce((t, y) => t + Math.exp(y - top), 0), log_total = top + Math.log(total);
    const p = x.map(y => Math.exp(y - log_total)), L = log_total - x[s.target];
    const dS = p.map((y, v) => (v === s.target ? Math.expm1(x[v] - log_total) : y) / s.T);
    const dw = of.map((o, v) => o.dw.map(y => dS[v] * y)), dh = s.h.map((_, k) => of.reduce((t, o, v) => t + dS[v] * o.dh[k], 0));
    return { S, p, L, dS, dw, dh };
  };
  // (L(x + e) - L(x - e)) / 2e by element k of vector v; v = -1: the context.
  const difference = (s, v, k) => {
    const vector = v < 0 ? s.h : s.w[v], before = vector[k], e = 1e-5 * Math.max(1, Math.abs(before));
    vector[k] = before + e;
    const up = compute(s).L;
    vector[k] = before - e;
    const down = compute(s).L;
    vector[k] = before;
    return (up - down) / (2 * e);
  };
  // What the test asks for.
  globalThis.nine = { compute, difference, state, D };
  const board = document.getElementById('board');
  if (!board) return;

  // ---- The plane ----

  const element = (tag, attributes, parent, text) => {
    const svg = ['svg', 'path', 'line', 'circle', 'title', 'desc', 'g'].includes(tag);
    const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent?.append(made);
    return made;
  };
  const number = (x, digits = 5) => !Number.isFinite(x) ? String(x) : x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6) ? x.toExponential(3) : x.toFixed(digits);
  const letters = D.parts > 1 ? i => 'abcdefgh'[i] : () => '';
  const vectors = () => [state.h, ...state.w];
  const name_of = v => v === 0 ? 'h' : 'w' + v;

  let reach = 1;
  const fit = () => {
    let far = 0;
    for (const x of vectors()) for (let i = 0; i < D.parts; ++i) far = Math.max(far, Math.abs(x[i * D.size]), Math.abs(x[i * D.size + 1]));
    reach = Math.max(D.ball > 0 ? 1.25 : 2.5, 1.15 * far);
  };
  const to_share = x => (x / reach + 1) / 2;
  const plane = element('div', { class: 'plane' }, board);
  const svg = element('svg', { viewBox: '0 0 400 400', role: 'img', 'aria-labelledby': 'plane-title plane-desc' }, plane);
  element('title', { id: 'plane-title' }, svg, 'The plane of the vectors');
  const desc = element('desc', { id: 'plane-desc' }, svg);
  const drawing = element('g', {}, svg);
  const px = x => 400 * to_share(x), py = y => 400 - 400 * to_share(y);

  const side = element('div', { class: 'side' }, board);
  const control = (label, input) => {
    const row = element('div', { class: 'control' }, side), id = 'i' + side.children.length;
    element('label', { for: id }, row, label);
    input.id = id;
    row.append(input);
    return row;
  };
  const choice = (label, options, chosen, then) => {
    const select = element('select', {});
    for (const [value, text] of options) element('option', { value }, select, text);
    select.value = chosen;
    select.addEventListener('change', () => then(select.value));
    return { select, row: control(label, select) };
  };
  const slider = (s, get, set) => {
    const input = element('input', { type: 'range', min: s.low, max: s.high, step: s.step });
    const row = control(s.name, input), out = element('output', { for: input.id }, row);
    const show = () => { input.value = get(); out.textContent = number(get(), 2); };
    input.addEventListener('input', () => { set(Number(input.value)); out.textContent = number(get(), 2); draw(); });
    show();
    return show;
  };
  const shows = [];
  choice('right word', state.w.map((_, v) => [v, 'w' + (v + 1)]), 0, v => { state.target = Number(v); draw(); });
  for (const s of D.sliders) if (s.name !== 'm') shows.push(slider(s, () => state.P[s.name], x => { state.P[s.name] = x; }));
  shows.push(slider({ name: 'temperature', low: 0.1, high: 5, step: 0.05 }, () => state.T, x => { state.T = x; }));
  if (D.margins.length > 1) {
    choice('margin', D.margins.map(m => [m, m === 'score' ? 'none' : m]), D.margin, m => { state.margin = m; draw(); });
    shows.push(slider(D.sliders.find(s => s.name === 'm'), () => state.P.m, x => { state.P.m = x; }));
  }
  let level = 'p';
  choice('level lines over the place of h', [['p', 'p of the right word'], ['S', 'S of the right word'], ['L', 'the loss'], ['none', 'none']], 'p', v => { level = v; draw(); });
  let rate = 0.5;
  slider({ name: 'step size', low: 0.05, high: 5, step: 0.05 }, () => rate, x => { rate = x; });
  const buttons = element('div', { class: 'buttons' }, side);
  const button = (text, then) => element('button', { type: 'button' }, buttons, text).addEventListener('click', () => { then(); draw(); });
  button('Step of descent', () => {
    const g = compute(state);
    state.h.forEach((_, k) => { state.h[k] -= rate * g.dh[k]; });
    state.w.forEach((w, v) => w.forEach((_, k) => { w[k] -= rate * g.dw[v][k]; }));
    fit();
  });
  button('Back to the beginning', () => {
    state.h = [...D.h];
    state.w = D.w.map(w => [...w]);
    Object.assign(state.P, Object.fromEntries(D.sliders.map(s => [s.name, s.value])));
    state.T = 1;
    shows.forEach(show => show());
    fit();
  });
  const said = element('p', { class: 'loss', role: 'status' }, side);

  // Points: buttons above the drawing, for every part of every vector.
  const points = [];
  vectors().forEach((_, v) => {
    for (let i = 0; i < D.parts; ++i) {
      const point = element('button', { type: 'button', class: 'point ' + (v === 0 ? 'context' : 'c' + (v - 1)) }, plane, name_of(v) + letters(i));
      const move = (x, y) => {
        const vector = vectors()[v];
        vector[i * D.size] = Math.max(-reach, Math.min(reach, x));
        vector[i * D.size + 1] = Math.max(-reach, Math.min(reach, y));
        draw();
      };
      point.addEventListener('pointerdown', event => { point.setPointerCapture(event.pointerId); });
      point.addEventListener('pointermove', event => {
        if (!point.hasPointerCapture(event.pointerId)) return;
        const box = plane.getBoundingClientRect();
        move(reach * (2 * (event.clientX - box.left) / box.width - 1), reach * (1 - 2 * (event.clientY - box.top) / box.height));
      });
      point.addEventListener('keydown', event => {
        const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!moves || event.altKey || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        const vector = vectors()[v], by = (event.shiftKey ? 0.1 : 0.02) * reach;
        move(vector[i * D.size] + by * moves[0], vector[i * D.size + 1] + by * moves[1]);
      });
      points.push({ point, v, i });
    }
  });

  // Lines where values on a grid equal `at`, by linear interpolation in each cell.
  const contour = (grid, n, at) => {
    let d = '';
    const cross = (a, b, i, j, k, l) => {
      const t = (at - a) / (b - a);
      return [400 * (i + t * (k - i)) / n, 400 - 400 * (j + t * (l - j)) / n];
    };
    for (let i = 0; i < n; ++i)
      for (let j = 0; j < n; ++j) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], ends = [];
        for (let k = 0; k < 4; ++k) {
          const [a, b] = [corners[k], corners[(k + 1) % 4]], va = grid[a[0]][a[1]], vb = grid[b[0]][b[1]];
          if ((va < at) !== (vb < at)) ends.push(cross(va, vb, ...a, ...b));
        }
        for (let k = 0; k + 1 < ends.length; k += 2)
          d += `M${ends[k][0].toFixed(1)} ${ends[k][1].toFixed(1)}L${ends[k + 1][0].toFixed(1)} ${ends[k + 1][1].toFixed(1)}`;
      }
    return d;
  };
  const draw_levels = () => {
    if (level === 'none') return '';
    const n = 44, grid = [], all = [], h = [...state.h], s = { ...state, h };
    for (let i = 0; i <= n; ++i) {
      grid.push([]);
      for (let j = 0; j <= n; ++j) {
        h[0] = reach * (2 * i / n - 1);
        h[1] = reach * (2 * j / n - 1);
        const at = compute(s), value = level === 'p' ? at.p[s.target] : level === 'S' ? at.S[s.target] : at.L;
        grid[i].push(value);
        if (Number.isFinite(value)) all.push(value);
      }
    }
    all.sort((a, b) => a - b);
    // p at tenths; S, L and a p that hardly changes where they part the plane into ten equal shares.
    const tenths = [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99], seen = tenths.filter(p => p > all[0] && p < all[all.length - 1]);
    const by_tenths = level === 'p' && seen.length > 2, levels = by_tenths ? tenths : Array.from({ length: 9 }, (_, k) => all[Math.round((k + 1) / 10 * (all.length - 1))]);
    for (const at of levels) {
      const d = contour(grid, n, at);
      if (d) element('path', { class: 'level', d }, drawing);
    }
    return by_tenths ? ' Lines where p of the right word is 0.01, 0.1, 0.2 to 0.9 and 0.99.' : ' Lines of equal ' + level + '.';
  };
  const arrow = (x, y, dx, dy, kind) => {
    const long = Math.hypot(dx, dy);
    if (!(long > 1e-9)) return;
    // From the rim of the point on, so that a short one is seen.
    const scale = Math.min(1, 0.45 * reach / long), rim = 18 / long, ax = px(x) + rim * dx, ay = py(y) - rim * dy, bx = ax + 200 * scale * dx / reach, by = ay - 200 * scale * dy / reach;
    const angle = Math.atan2(by - ay, bx - ax), tip = Math.min(9, Math.hypot(bx - ax, by - ay)), side_of = turn => `${(bx - tip * Math.cos(angle + turn)).toFixed(1)} ${(by - tip * Math.sin(angle + turn)).toFixed(1)}`;
    element('path', { class: 'arrow ' + kind, d: `M${ax.toFixed(1)} ${ay.toFixed(1)}L${bx.toFixed(1)} ${by.toFixed(1)}M${side_of(0.45)}L${bx.toFixed(1)} ${by.toFixed(1)}L${side_of(-0.45)}` }, drawing);
  };

  // ---- The numbers ----

  const words = element('table', { class: 'numbers' }, document.getElementById('words'));
  element('caption', {}, words, 'Scores and probabilities');
  const numbers = element('table', { class: 'numbers' }, document.getElementById('numbers'));
  element('caption', {}, numbers, 'Every number of every vector, the exact gradient of L by it, and the finite difference of half step 1e-5');
  const head = (table, names) => {
    const row = element('tr', {}, element('thead', {}, table));
    for (const n of names) element('th', { scope: 'col' }, row, n);
    return element('tbody', {}, table);
  };
  const word_rows = (body => state.w.map((_, v) => {
    const row = element('tr', {}, body);
    element('th', { scope: 'row' }, row, 'w' + (v + 1));
    return { row, cells: [0, 1, 2].map(() => element('td', {}, row)) };
  }))(head(words, ['word', 'S', 'p', 'dL/dS']));
  const number_rows = [];
  const number_body = head(numbers, ['number', 'value', 'exact gradient', 'finite difference']);
  vectors().forEach((x, v) => x.forEach((_, k) => {
    const row = element('tr', {}, number_body), label = `${name_of(v)}[${k + 1}]` + (k % D.size === 2 ? ', ' + D.extra : '');
    const id = `number-${v}-${k}`;
    element('label', { for: id }, element('th', { scope: 'row' }, row), label);
    const input = element('input', { type: 'number', step: 0.05, id }, element('td', {}, row));
    input.addEventListener('input', () => {
      if (!Number.isFinite(input.valueAsNumber)) return;
      vectors()[v][k] = input.valueAsNumber;
      draw(input);
    });
    number_rows.push({ v, k, input, cells: [0, 1].map(() => element('td', {}, row)) });
  }));

  const draw = typed => {
    const now = compute(state);
    drawing.replaceChildren();
    for (let k = -Math.floor(reach); k <= reach; ++k) {
      element('line', { class: k === 0 ? 'axis' : 'rule', x1: px(k), x2: px(k), y1: 0, y2: 400 }, drawing);
      element('line', { class: k === 0 ? 'axis' : 'rule', x1: 0, x2: 400, y1: py(k), y2: py(k) }, drawing);
    }
    if (D.ball > 0) element('circle', { class: 'ball', cx: 200, cy: 200, r: 200 * D.ball / reach }, drawing);
    const lines = draw_levels();
    for (const { point, v, i } of points) {
      const x = vectors()[v].slice(i * D.size), g = (v === 0 ? now.dh : now.dw[v - 1]).slice(i * D.size);
      arrow(x[0], x[1], -g[0], -g[1], v === 0 ? 'context' : 'c' + (v - 1));
      point.style.left = 100 * to_share(x[0]) + '%';
      point.style.top = 100 - 100 * to_share(x[1]) + '%';
      point.classList.toggle('target', v === state.target + 1);
      point.setAttribute('aria-label', `${name_of(v)}${letters(i)} at ${number(x[0], 2)}, ${number(x[1], 2)}; arrow keys move it`);
    }
    desc.textContent = `The context h and the words, from -${number(reach, 1)} to ${number(reach, 1)}. Arrows: minus the exact gradient of the loss by each point.${lines}`;
    said.textContent = `L = -ln p(w${state.target + 1}) = ${number(now.L)}`;
    word_rows.forEach(({ row, cells }, v) => {
      [now.S[v], now.p[v], now.dS[v]].forEach((x, k) => { cells[k].textContent = number(x); });
      row.classList.toggle('marked', v === state.target);
    });
    for (const { v, k, input, cells } of number_rows) {
      if (input !== typed) input.value = Number(vectors()[v][k].toFixed(4));
      cells[0].textContent = number((v === 0 ? now.dh : now.dw[v - 1])[k]);
      cells[1].textContent = number(difference(state, v - 1, k));
    }
  };
  fit();
  draw();
})();
