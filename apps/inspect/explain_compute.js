'use strict';
// What the page computes; NINE is generated from the kernels' formulas.
(() => {
  const D = JSON.parse(document.getElementById('data').textContent);
  const numbers_of = component => Object.fromEntries(component.sliders.map(s => [s.name, s.value]));
  // h, the words w, the prior's m and each component's columns of C; P are the numbers of the components.
  const beginning = () => structuredClone({
    h: D.h, w: D.w, m: D.m, C: D.C, P: D.components.map(numbers_of), T: 1, margin: D.margin, pieces: D.pieces, target: 0,
    loss: D.loss && { kind: D.loss.kinds[0], ...numbers_of(D.loss) } });
  const finite = x => Number.isFinite(x) ? x : 0;
  const dot = (a, b) => a.reduce((t, x, k) => t + x * b[k], 0), length = x => Math.sqrt(dot(x, x));

  // Margins and norms have names of their own (s, F, G), which a formula may have given to its numbers.
  const by_angle = D.margins.length > 0 || D.norms !== null;

  // S of a part of w and a part of h of n numbers, with its gradients unless `values` alone are asked for; F and G are the norms where a
  // formula has them.
  const pair = (f, n, w, h, P, F, G, values) => {
    const a = w.slice(0, n), b = h.slice(0, n), e = a.map((x, k) => x - b[k]);
    const z = dot(a, b), q = dot(e, e), ww = dot(a, a), hh = dot(b, b), lw = Math.sqrt(ww), lh = Math.sqrt(hh), apart = lw > 0 && lh > 0;
    const c = apart ? Math.max(-1, Math.min(1, z / (lw * lh))) : 0;
    // The sine from w to h in the plane: exact where c has no digits.
    const sine = n === 2 && apart ? (a[0] * b[1] - a[1] * b[0]) / (lw * lh) : 1;
    const given = { lw: w[n], lh: h[n], F, G, s: Math.abs(sine) };
    const out = f.run(z, q, ww, hh, c, n, f.names.map(name => name in given && (by_angle || !(name in P)) ? given[name] : P[name]));
    if (values) return { S: out[0] };
    const [by_z, by_q, by_ww, by_hh, by_c] = out.slice(1, 6).map(finite), by = Object.fromEntries(f.by.map((name, k) => [name, finite(out[6 + k])]));
    // dc/dw and dc/dh turn the vectors: (h/|h| - c w/|w|)/|w|, in the plane along the normal.
    let turn_w = a.map(() => 0), turn_h = turn_w;
    if (n === 2 && apart) {
      const on_w = [-a[1] / ww, a[0] / ww], on_h = [b[1] / hh, -b[0] / hh], along = by_c * sine - (by_angle ? by.s ?? 0 : 0) * c * Math.sign(sine);
      turn_w = on_w.map(x => along * x);
      turn_h = on_h.map(x => along * x);
    } else if (apart && Math.abs(c) < 1 && by_c !== 0) {
      turn_w = a.map((x, k) => by_c * (b[k] / lh - c * x / lw) / lw);
      turn_h = b.map((x, k) => by_c * (a[k] / lw - c * x / lh) / lh);
    }
    const dw = a.map((x, k) => by_z * b[k] + 2 * by_q * e[k] + 2 * by_ww * x + turn_w[k]);
    const dh = b.map((x, k) => by_z * a[k] - 2 * by_q * e[k] + 2 * by_hh * x + turn_h[k]);
    if (w.length > n) {
      dw.push(by.lw ?? 0);
      dh.push(by.lh ?? 0);
    }
    return { S: out[0], dw, dh, dF: by.F ?? 0, dG: by.G ?? 0 };
  };

  // The score of whole vectors by component k, as its kernel joins their parts.
  const score = (k, f, w, h, P, F, G, values) => {
    const { parts, size, means, combine, factor } = D.components[k];
    if (parts === 1) return pair(f, means, w, h, P, F, G, values);
    const part = (x, i) => x.slice(i * size, (i + 1) * size), pairs = [];
    for (let i = 0; i < parts; ++i)
      for (let j = 0; j < parts; ++j) pairs.push({ i, j, ...pair(f, means, part(w, i), part(h, j), P, undefined, undefined, values) });
    const top = Math.max(...pairs.map(p => p.S)), total = pairs.reduce((t, p) => t + Math.exp(p.S - top), 0), scale = factor ? P[factor] : 1;
    const mixture = combine === 'mixture', S = scale * (mixture ? top + Math.log(total / pairs.length) : pairs.reduce((t, p) => t + p.S, 0));
    if (values) return { S };
    const dw = w.map(() => 0), dh = h.map(() => 0);
    for (const p of pairs) {
      const weight = scale * (mixture ? Math.exp(p.S - top) / total : 1);
      for (let n = 0; n < size; ++n) {
        dw[p.i * size + n] += weight * p.dw[n];
        dh[p.j * size + n] += weight * p.dh[n];
      }
    }
    return { S, dw, dh };
  };

  // The norms F of the words and G of the context; `held` are those that no gradient passes through, where they are not to move.
  const norms_of = (s, held) => {
    const { word, context } = D.norms ?? {}, P = s.P[0], first = held?.first ?? length(s.w[0]);
    const ratio = s.w.map((_, v) => word ? word.fixed[v] + Object.entries(word.by).reduce((t, [name, share]) => t + P[name] * share[v], 0) : 1);
    const F = s.w.map((w, v) => !word ? length(w) : ratio[v] * (word.first ? first : 1)), own = length(s.h), other = P['longest other context'];
    const G = held?.G ?? (!context ? own : context.largest ? Math.max(own, other) : P.G);
    return { F, G, ratio, first, by_first: word?.first && word.through, by_own: !context || (context.largest && context.through && own >= other) };
  };
  const held_norms = s => {
    if (!D.norms) return {};
    const { word, context } = D.norms, now = norms_of(s);
    return { ...(word?.first && !word.through ? { first: now.first } : {}), ...(context && !context.through ? { G: now.G } : {}) };
  };

  // The targets' probabilities by label smoothing; null without.
  const smoothed = s => {
    if (D.loss?.option !== 'label_smoothing') return null;
    const V = s.w.length, { kind, epsilon } = s.loss;
    return s.w.map((_, v) => v === s.target ? 1 - epsilon + (kind === 'uniform' ? epsilon / V : 0) : epsilon / (kind === 'uniform' ? V : V - 1));
  };
  // A penalty on the prior pi of one context, with its gradients by the logits.
  const prior_penalty = (s, pi) => {
    if (D.loss?.option !== 'pi_reg') return null;
    const K = pi.length, rho = s.loss.rho * (s.loss.kind === 'cv2' ? K * K : 1);  // cv2 divides by the square of the mean, 1/K
    const slopes = pi.map(x => 2 * (x - 1 / K) / K), mean = dot(pi, slopes);
    return { R: rho * pi.reduce((t, x) => t + (x - 1 / K) ** 2, 0) / K, da: pi.map((x, k) => rho * x * (slopes[k] - mean)) };
  };
  // A penalty on the words' lengths, with its gradients.
  const norm_penalty = s => {
    if (D.loss?.option !== 'weight_norm_reg') return null;
    const { kind, rho, nu } = s.loss, n = s.w.map(length), y = n.reduce((t, x) => t + (x - nu) ** 2, 0), root = Math.sqrt(y);
    const by = kind === 'root' ? (root > 0 ? rho / root : 0) : 2 * rho;
    return { R: rho * (kind === 'root' ? root : y), dw: s.w.map((w, v) => w.map(x => n[v] > 0 ? by * (n[v] - nu) * x / n[v] : 0)) };
  };

  // Scores, probabilities, posteriors, the loss and its exact gradients, or `values` without gradients, as a grid of level lines needs
  // them. Of a single kernel: one component of weight 1.
  const compute = (s, held, values) => {
    const K = D.components.length, words = s.w.map((_, v) => v), y = s.target, n = norms_of(s, held);
    const with_margin = s.margin === 'lsm' ? 'lsm:' + s.pieces : s.margin;
    const contexts = D.components.map((_, k) => s.C ? s.C[k].map(column => Math.tanh(dot(column, s.h))) : s.h);
    const a = s.m ? s.m.map(m => dot(m, s.h)) : [0], a_top = Math.max(...a), a_total = a.reduce((t, x) => t + Math.exp(x - a_top), 0);
    const log_pi = a.map(x => x - a_top - Math.log(a_total)), pi = log_pi.map(Math.exp);
    const of = D.components.map((c, k) => words.map(v => score(k, NINE[v === y && s.margin !== 'score' ? with_margin : c.run], s.w[v], contexts[k], s.P[k], n.F[v], n.G, values)));
    const S = of.map(o => o.map(x => x.S)), x = S.map(row => row.map(v => v / s.T));
    const lse = x.map(row => { const top = Math.max(...row); return top + Math.log(row.reduce((t, v) => t + Math.exp(v - top), 0)); });
    const log_p = x.map((row, k) => row.map(v => v - lse[k])), pk = log_p.map(row => row.map(Math.exp)), p = words.map(v => pk.reduce((t, row, k) => t + pi[k] * row[v], 0));
    const joint = log_p.map((row, k) => log_pi[k] + row[y]), top = Math.max(...joint), nll = -(K > 1 ? top + Math.log(joint.reduce((t, v) => t + Math.exp(v - top), 0)) : joint[0]);
    const t = smoothed(s), of_prior = prior_penalty(s, pi), of_norms = norm_penalty(s);
    const L = t ? -dot(t, log_p[0]) : nll + (of_prior?.R ?? 0) + (of_norms?.R ?? 0);
    const gamma = joint.map(v => K > 1 ? Math.exp(v + nll) : 1);
    if (values) return { S, pi, pk, p, L, gamma, contexts };
    const da = pi.map((v, k) => v - gamma[k] + (of_prior?.da[k] ?? 0));
    const dS = log_p.map((row, k) => row.map((v, word) => (t ? pk[k][word] - t[word] : gamma[k] * (word === y ? Math.expm1(v) : pk[k][word])) / s.T));
    const dw = words.map(v => s.w[v].map((_, i) => of.reduce((sum, o, k) => sum + dS[k][v] * o[v].dw[i], 0) + (of_norms?.dw[v][i] ?? 0)));
    const dhk = contexts.map((h, k) => h.map((_, i) => words.reduce((t, v) => t + dS[k][v] * of[k][v].dh[i], 0)));
    const dt = s.C ? dhk.map((g, k) => g.map((v, i) => v * (1 - contexts[k][i] ** 2))) : null;
    const dh = s.h.map((_, i) => (s.m ? s.m.reduce((t, m, k) => t + da[k] * m[i], 0) : 0)
      + (s.C ? s.C.reduce((t, columns, k) => t + columns.reduce((u, column, j) => u + dt[k][j] * column[i], 0), 0) : dhk.reduce((t, g) => t + g[i], 0)));
    const dm = s.m ? da.map(v => s.h.map(u => v * u)) : null, dC = s.C ? dt.map(g => g.map(v => s.h.map(u => v * u))) : null;
    // Through norms that follow the vectors' own lengths.
    const dF = words.map(v => dS[0][v] * (of[0][v].dF ?? 0)), dG = words.reduce((t, v) => t + dS[0][v] * (of[0][v].dG ?? 0), 0);
    const along = (gradient, vector, by) => { const l = length(vector); if (l > 0) vector.forEach((u, i) => { gradient[i] += by * u / l; }); };
    if (!D.norms?.word) words.forEach(v => along(dw[v], s.w[v], dF[v]));
    else if (n.by_first) along(dw[0], s.w[0], dF.reduce((t, g, v) => t + g * n.ratio[v], 0));
    if (n.by_own) along(dh, s.h, dG);
    return { S, pi, pk, p, L, gamma, da, dS, dw, dh, dm, dC, dG, contexts };
  };

  // (L(x + e) - L(x - e)) / 2e by element k of `vector`, one of the state's own.
  const difference = (s, vector, k) => {
    const before = vector[k], e = 1e-5 * Math.max(1, Math.abs(before)), held = held_norms(s);
    vector[k] = before + e;
    const up = compute(s, held, true).L;
    vector[k] = before - e;
    const down = compute(s, held, true).L;
    vector[k] = before;
    return (up - down) / (2 * e);
  };
  globalThis.nine = { D, state: beginning(), beginning, compute, difference };
})();
