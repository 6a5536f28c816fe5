// A map of words: rows of [word, count, norm, x, y], by frequency, a count null where it is unknown; places in 0..1 from the upper left corner.
for (const figure of document.querySelectorAll('figure.map')) {
  const data = figure.querySelector('script');
  if (!data) continue;  // a picture alone, as the page of angles has
  const words = JSON.parse(data.textContent);
  const plane = figure.querySelector('.plane'), find = figure.querySelector('input'), said = figure.querySelector('.find span');
  const spot = element('div', 'spot', plane), tip = element('div', 'tip', plane), hit = element('div', 'hit', plane);
  let at = -1;
  hit.tabIndex = 0;
  hit.setAttribute('role', 'group');
  hit.setAttribute('aria-label', figure.querySelector('h2').textContent + ': go through the words, ' + (words[0][1] === null ? 'in the order of their tokens' : 'the most frequent first') + ', with the arrow keys');
  tip.setAttribute('role', 'status');
  const hide = () => { spot.hidden = tip.hidden = true; };
  const show = i => {
    at = i;
    const [word, count, norm, x, y] = words[i];
    spot.hidden = tip.hidden = false;
    spot.style.left = 100 * x + '%';
    spot.style.top = 100 * y + '%';
    tip.replaceChildren();
    element('bdi', '', element('b', '', tip)).textContent = word;
    element('div', '', tip).textContent = (count === null ? '' : format(count) + (count === 1 ? ' time' : ' times') + ', ') + 'norm ' + format(norm);
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
