// One legend above all charts of a run or of several: a curve is switched off and on in every chart that has it.
const all_charts = document.querySelector('.charts'), entries = new Map();
for (const chart of charts) for (const s of chart.all) if (!entries.has(s.name)) entries.set(s.name, s);
if (all_charts && charts.length > 1 && entries.size > 1) {
  const off = new Set(), legend = document.createElement('div'), svg = charts[0].figure.querySelector('svg').namespaceURI;
  legend.className = 'shared-legend';
  legend.setAttribute('role', 'group');
  legend.setAttribute('aria-label', 'Legend of all charts: switches curves off and on');
  all_charts.before(legend);
  all_charts.classList.add('shared');
  const swatch = (s, parent) => {
    const sample = document.createElementNS(svg, 'svg');
    sample.setAttribute('class', 'swatch');
    sample.setAttribute('viewBox', '0 0 22 8');
    sample.setAttribute('aria-hidden', 'true');
    const draw = (name, d) => {
      const path = document.createElementNS(svg, 'path');
      path.setAttribute('class', name + ' ' + s.class);
      path.setAttribute('d', d);
      sample.append(path);
    };
    if (!s.scattered) draw(s.dots ? 'line strong' : 'line', 'M1 4H21');
    if (s.scattered || (s.dots && !s.class.includes('dash'))) draw(s.scattered ? 'scatter' : 'dot', 'M11 4h0');
    parent.append(sample);
  };
  const buttons = new Map(), everything = document.createElement('button');
  const apply = () => {
    for (const [name, button] of buttons) button.setAttribute('aria-pressed', !off.has(name));
    everything.hidden = off.size === 0;
    charts.forEach(chart => chart.leave_out(off));
  };
  for (const [name, s] of entries) {
    const button = element('button', s.class, legend);
    button.type = 'button';
    button.title = 'Shift: this one alone';
    swatch(s, button);
    element('bdi', '', button).textContent = name;
    button.addEventListener('click', event => {
      if (event.shiftKey) for (const other of entries.keys()) if (other === name) off.delete(other); else off.add(other);
      else if (!off.delete(name)) off.add(name);
      apply();
    });
    buttons.set(name, button);
  }
  everything.type = 'button';
  everything.className = 'everything';
  everything.textContent = 'show all';
  everything.addEventListener('click', () => {
    off.clear();
    apply();
    buttons.values().next().value.focus();  // this button goes away
  });
  legend.append(everything);
  apply();
  // What the keyboard goes to does not hide below the legend, which stays in sight.
  const room = () => document.documentElement.style.setProperty('--below-legend', legend.offsetHeight + 8 + 'px');
  addEventListener('resize', room);
  room();
}
