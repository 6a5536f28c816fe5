'use strict';
(() => {
  const board = document.getElementById('board');
  if (!board) return;
  const { D, state, beginning, compute, difference } = nine, K = D.components.length, mixture = D.m !== undefined;

  // ---- The plane ----

  const element = (tag, attributes, parent, text) => {
    const svg = ['svg', 'path', 'line', 'circle', 'title', 'desc', 'g', 'text'].includes(tag);
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
    const row = element('div', { class: 'control' }, side), id = 'i' + board.querySelectorAll('.control').length;
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
  // What follows the state: sliders whose numbers other controls move.
  const shows = [];
  const slider = (s, get, set, digits = 2) => {
    const input = element('input', { type: 'range', min: s.low, max: s.high, step: s.step });
    const row = control(s.label ?? s.name, input), out = element('output', { for: input.id }, row);
    const show = () => { input.value = get(); out.textContent = number(get(), digits); };
    input.addEventListener('input', () => { set(Number(input.value)); draw(input); out.textContent = number(get(), digits); });
    shows.push({ input, show });
    show();
    return row;
  };
  // pi_k by the part of m_k along h, which leaves the proportions of the others.
  const set_prior = (k, share) => {
    const long = state.h.reduce((t, x) => t + x * x, 0);
    if (!(long > 0)) return;
    const a = state.m.map(m => m.reduce((t, x, i) => t + x * state.h[i], 0)), others = Math.log(a.reduce((t, x, j) => j === k ? t : t + Math.exp(x), 0));
    const by = Math.log(share / (1 - share)) + others - a[k];
    state.m[k] = state.m[k].map((x, i) => x + by * state.h[i] / long);
  };
  choice('right word', state.w.map((_, v) => [v, 'w' + (v + 1)]), 0, v => { state.target = Number(v); draw(); });
  if (K > 1) D.components.forEach((c, k) => slider({ label: 'π of component ' + c.label, low: 0.001, high: 0.999, step: 0.001 }, () => compute(state).pi[k], x => set_prior(k, x), 3));
  D.components.forEach((c, k) => {
    for (const s of c.sliders) if (D.margins.length === 0 || s.name !== 'm') slider({ ...s, label: mixture ? `${s.name} of component ${c.label}` : s.name }, () => state.P[k][s.name], x => { state.P[k][s.name] = x; });
  });
  if (D.loss) {
    const symbols = { epsilon: 'ε', rho: 'ρ', nu: 'ν' }, names = { label_smoothing: 'label smoothing', pi_reg: 'penalty R on π', weight_norm_reg: 'penalty R on the words’ lengths' };
    const { select } = choice(names[D.loss.option], D.loss.kinds.map(k => [k, k]), state.loss.kind, k => { state.loss.kind = k; draw(); });
    shows.push({ input: select, show: () => { select.value = state.loss.kind; } });
    for (const s of D.loss.sliders) slider({ ...s, label: symbols[s.name] }, () => state.loss[s.name], x => { state.loss[s.name] = x; });
  }
  slider({ name: 'temperature', low: 0.1, high: 5, step: 0.05 }, () => state.T, x => { state.T = x; });
  let margin_shown = () => {};
  if (D.margins.length > 1) {
    const names = { score: 'none', cos: 'cos: c − m', arc: 'arc: cos(θ + m)', lsm: 'lsm: m pieces of cos(mθ)' };
    const { select } = choice('margin', D.margins.map(m => [m, names[m]]), D.margin, m => { state.margin = m; margin_shown(); draw(); });
    const size = slider({ ...D.components[0].sliders.find(s => s.name === 'm'), label: 'margin m' }, () => state.P[0].m, x => { state.P[0].m = x; });
    const pieces = slider({ label: 'pieces m', low: 1, high: D.most_pieces, step: 1 }, () => state.pieces, x => { state.pieces = x; }, 0);
    margin_shown = () => {
      select.value = state.margin;
      size.hidden = state.margin !== 'cos' && state.margin !== 'arc';
      pieces.hidden = state.margin !== 'lsm';
    };
    margin_shown();
  }
  const levels = [['p', 'p of the right word', at => at.p[state.target]]];
  D.components.forEach((c, k) => {
    const which = mixture ? ' in component ' + c.label : '';
    levels.push(['S' + k, 'S of the right word' + which, at => at.S[k][state.target]]);
    if (mixture) levels.push(['gamma' + k, 'posterior γ of component ' + c.label, at => at.gamma[k]], ['pi' + k, 'π of component ' + c.label, at => at.pi[k]]);
  });
  levels.push(['L', 'the loss', at => at.L], ['none', 'none', null]);
  let level = levels[0];
  choice('level lines over the place of h', levels, 'p', v => { level = levels.find(l => l[0] === v); draw(); });
  let rate = 0.5;
  slider({ name: 'step size', low: 0.05, high: 5, step: 0.05 }, () => rate, x => { rate = x; });
  const buttons = element('div', { class: 'buttons' }, side);
  const button = (text, then) => element('button', { type: 'button' }, buttons, text).addEventListener('click', () => { then(); draw(); });
  const descend = (vector, gradient) => vector.forEach((_, k) => { vector[k] -= rate * gradient[k]; });
  button('Step of descent', () => {
    const g = compute(state);
    descend(state.h, g.dh);
    state.w.forEach((w, v) => descend(w, g.dw[v]));
    if (state.m) state.m.forEach((m, k) => descend(m, g.dm[k]));
    if (state.C) state.C.forEach((columns, k) => columns.forEach((c, j) => descend(c, g.dC[k][j])));
    fit();
  });
  button('Back to the beginning', () => {
    Object.assign(state, beginning(), { target: state.target });
    margin_shown();
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
        const below = grid[i][j] < at;
        if ((grid[i + 1][j] < at) === below && (grid[i + 1][j + 1] < at) === below && (grid[i][j + 1] < at) === below) continue;
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
    const [kind, , value_of] = level;
    if (value_of === null) return '';
    const n = K > 3 ? 20 : 44, grid = [], all = [], h = [...state.h], s = { ...state, h };
    for (let i = 0; i <= n; ++i) {
      grid.push([]);
      for (let j = 0; j <= n; ++j) {
        h[0] = reach * (2 * i / n - 1);
        h[1] = reach * (2 * j / n - 1);
        const value = value_of(compute(s, undefined, true));
        grid[i].push(value);
        if (Number.isFinite(value)) all.push(value);
      }
    }
    all.sort((a, b) => a - b);
    // p at tenths; S, L and a p that hardly changes where they part the plane into ten equal shares.
    const tenths = [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99], seen = tenths.filter(p => p > all[0] && p < all[all.length - 1]);
    const by_tenths = /^(p|pi|gamma)/.test(kind) && seen.length > 2, levels = by_tenths ? tenths : Array.from({ length: 9 }, (_, k) => all[Math.round((k + 1) / 10 * (all.length - 1))]);
    for (const at of levels) {
      const d = contour(grid, n, at);
      if (d) element('path', { class: 'level', d }, drawing);
    }
    return by_tenths ? ` Lines where ${level[1]} is 0.01, 0.1, 0.2 to 0.9 and 0.99.` : ` Lines of equal ${level[1]}.`;
  };
  const arrow = (x, y, dx, dy, kind) => {
    const long = Math.hypot(dx, dy);
    if (!(long > 1e-9)) return;
    // From the rim of the point on, so that a short one is seen; a long one ends within the plane.
    const rim = 18 / long, ax = px(x) + rim * dx, ay = py(y) - rim * dy, scale = 200 * Math.min(1, 0.45 * reach / long) / reach;
    const room = (from, by) => by > 0 ? (396 - from) / by : by < 0 ? (4 - from) / by : Infinity;
    const share = Math.max(0, Math.min(1, room(ax, scale * dx), room(ay, -scale * dy))), bx = ax + share * scale * dx, by = ay - share * scale * dy;
    const angle = Math.atan2(by - ay, bx - ax), tip = Math.min(9, Math.hypot(bx - ax, by - ay)), side_of = turn => `${(bx - tip * Math.cos(angle + turn)).toFixed(1)} ${(by - tip * Math.sin(angle + turn)).toFixed(1)}`;
    element('path', { class: 'arrow ' + kind, d: `M${ax.toFixed(1)} ${ay.toFixed(1)}L${bx.toFixed(1)} ${by.toFixed(1)}M${side_of(0.45)}L${bx.toFixed(1)} ${by.toFixed(1)}L${side_of(-0.45)}` }, drawing);
  };

  // ---- The numbers ----

  const table = (place, caption, names) => {
    const made = element('table', { class: 'numbers' }, place);
    element('caption', {}, made, caption);
    const row = element('tr', {}, element('thead', {}, made));
    for (const n of names) element('th', { scope: 'col' }, row, n);
    return element('tbody', {}, made);
  };
  const line = (body, name, cells) => {
    const row = element('tr', {}, body);
    element('th', { scope: 'row' }, row, name);
    return { row, cells: Array.from({ length: cells }, () => element('td', {}, row)) };
  };
  const left = document.getElementById('words'), right = document.getElementById('numbers');
  const by_component = text => D.components.map(c => mixture ? `${text} ${c.label}` : text);
  const word_body = table(left, 'Scores and probabilities', ['word', ...(mixture ? ['p'] : []), ...by_component('S'), ...by_component('p'), ...by_component('dL/dS')]);
  const word_rows = state.w.map((_, v) => line(word_body, 'w' + (v + 1), (mixture ? 1 : 0) + 3 * K));
  const component_body = mixture ? table(element('div', { class: 'scroll' }, left.parentElement), 'Components: the prior a = m·h, π = softmax(a), and the posterior γ, each component’s share of p of the right word', ['component', 'π', 'p of the right word', 'γ', 'dL/da']) : null;
  const component_rows = mixture ? D.components.map(c => line(component_body, c.label, 4)) : [];
  const number_body = table(right, 'Every number of every vector, the exact gradient of L by it, and the finite difference of half step 1e-5' + (D.norms ? '; norms that no gradient passes through are held' : ''), ['number', 'value', 'exact gradient', 'finite difference']);
  // The numbers of a vector: its name, the vector now, its gradient.
  const number_rows = [];
  const list_numbers = (body, name, vector, gradient) => vector().forEach((_, k) => {
    const extra = D.extra && k % D.size === D.size - 1 ? ', ' + D.extra : '', row = element('tr', {}, body), id = 'number-' + number_rows.length;
    element('label', { for: id }, element('th', { scope: 'row' }, row), `${name}[${k + 1}]${/^[hw]/.test(name) ? extra : ''}`);
    const input = element('input', { type: 'number', step: 'any', id }, element('td', {}, row));
    input.addEventListener('input', () => {
      if (!Number.isFinite(input.valueAsNumber)) return;
      vector()[k] = input.valueAsNumber;
      if (Math.abs(input.valueAsNumber) > reach) fit();
      draw(input);
    });
    number_rows.push({ vector, gradient, k, input, cells: [0, 1].map(() => element('td', {}, row)) });
  });
  list_numbers(number_body, 'h', () => state.h, now => now.dh);
  state.w.forEach((_, v) => list_numbers(number_body, 'w' + (v + 1), () => state.w[v], now => now.dw[v]));
  if (mixture) state.m.forEach((_, k) => list_numbers(number_body, 'm' + (k + 1), () => state.m[k], now => now.dm[k]));
  const latent = state.C ? element('details', {}, right.parentElement) : null;
  if (latent) {
    element('summary', {}, latent, 'The columns of each component’s C, whose context is tanh(C·h)');
    const body = table(element('div', { class: 'scroll' }, latent), 'C_k,j is column j of component k', ['number', 'value', 'exact gradient', 'finite difference']);
    state.C.forEach((columns, k) => columns.forEach((_, j) => list_numbers(body, `C${k + 1},${j + 1}`, () => state.C[k][j], now => now.dC[k][j])));
    latent.addEventListener('toggle', () => draw());
  }

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
    if (state.C) now.contexts.forEach((h, k) => {
      element('circle', { class: 'latent', cx: px(h[0]), cy: py(h[1]), r: 4 }, drawing);
      element('text', { class: 'latent-name', x: px(h[0]) + 6, y: py(h[1]) + 4 }, drawing, 'h' + '₁₂₃₄₅₆₇₈₉'[k]);
    });
    desc.textContent = `The context h and the words, from -${number(reach, 1)} to ${number(reach, 1)}. Arrows: minus the exact gradient of the loss by each point.${state.C ? ' Small circles: the contexts of the components, tanh(C·h).' : ''}${lines}`;
    said.textContent = D.loss ? `L = ${D.loss.formula} = ${number(now.L)}` : `L = -ln p(w${state.target + 1}) = ${number(now.L)}`;
    word_rows.forEach(({ row, cells }, v) => {
      const of = table => table.map(row => row[v]);
      [...(mixture ? [now.p[v]] : []), ...of(now.S), ...of(now.pk), ...of(now.dS)].forEach((x, k) => { cells[k].textContent = number(x); });
      row.classList.toggle('marked', v === state.target);
    });
    component_rows.forEach(({ cells }, k) => [now.pi[k], now.pk[k][state.target], now.gamma[k], now.da[k]].forEach((x, i) => { cells[i].textContent = number(x); }));
    for (const { vector, gradient, k, input, cells } of number_rows) {
      if (input.closest('details')?.open === false) continue;
      if (input !== typed) input.value = Number(vector()[k].toFixed(4));
      cells[0].textContent = number(gradient(now)[k]);
      cells[1].textContent = number(difference(state, vector(), k));
    }
    for (const { input, show } of shows) if (input !== typed) show();
  };
  fit();
  draw();
})();
