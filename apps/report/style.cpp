#include "apps/report/page.h"

// The curves' colours keep a distance (CIE76) of at least 15 from each other for normal, protan,
// deutan and tritan sight, and a contrast of 3:1 or more to the ground. --depth: how much of the
// accent a map's full cell takes, so that its number can be read.
const char* const nine::report::kStyle = R"css(
:root {
  color-scheme: light dark;
  --ground: #fcfcfa; --raised: #ffffff; --ink: #1b1e23; --quiet: #5c6470; --line: #e2e2dd; --grid: #ecece7; --accent: #1f6fc4; --mark: #f1f5fa; --depth: 0.7;
  --c0: #1f6fc4; --c1: #b8390d; --c2: #0a5c48; --c3: #c07ab8; --c4: #b78a00; --c5: #43256f;
  --f0: #b9b3c9; --f1: #8f9fd0; --f2: #4c8fc9; --f3: #14749c; --f4: #0c5068; --f5: #0b2230;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #111418; --raised: #171b21; --ink: #e7e9ec; --quiet: #9ba4b0; --line: #2b313a; --grid: #232931; --accent: #7cbcff; --mark: #1b2430; --depth: 0.45;
    --c0: #66b2ff; --c1: #ff8f57; --c2: #b7f6be; --c3: #c97bb4; --c4: #f5e667; --c5: #f0566a;
    --f0: #6b6485; --f1: #5f72ad; --f2: #3f86b8; --f3: #4fb0c4; --f4: #8fdcc2; --f5: #f4f7b8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 400 1rem/1.5 system-ui, -apple-system, "Segoe UI", Inter, Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100%;
}
main { max-width: 68rem; margin: 0 auto; padding: 2.75rem 1.5rem 4rem; }
h1, h2, h3, p, dl, dd, ul, figure { margin: 0; padding: 0; }
h1 { font-size: clamp(1.6rem, 1.2rem + 1.8vw, 2.3rem); line-height: 1.15; font-weight: 650; letter-spacing: -0.02em; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; font-weight: 650; letter-spacing: -0.01em; margin: 0 0 0.9rem; }
h3 { font-size: 0.95rem; font-weight: 620; line-height: 1.3; }
section { margin-top: 2.75rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.kicker { color: var(--quiet); font-size: 0.8rem; font-weight: 550; letter-spacing: 0.02em; margin-bottom: 0.35rem; }
.lead { margin-top: 0.6rem; color: var(--quiet); }
.synopsis { margin-top: 0.25rem; font-size: 0.9rem; overflow-wrap: anywhere; }
.synopsis b { font-weight: 570; color: var(--ink); }
a { color: var(--accent); text-underline-offset: 0.15em; border-radius: 3px; }
.sep { margin: 0 0.15rem; }
.quiet, footer { color: var(--quiet); font-size: 0.85rem; }
footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
.badge {
  display: inline-block; padding: 0 0.55em; margin-right: 0.35rem; border: 1px solid var(--line); border-radius: 1em; color: var(--quiet);
  font-size: 0.8rem; font-weight: 550; line-height: 1.6; white-space: nowrap;
}
.badge.finished, .badge.best { color: var(--accent); border-color: currentColor; }
.badge.best { margin: 0 0 0 0.4rem; font-size: 0.72rem; }
.notes { list-style: none; margin-top: 1rem; padding: 0.6rem 0.9rem; border-left: 3px solid var(--c1); background: var(--raised); font-size: 0.9rem; }

.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0.75rem; }
.tile { background: var(--raised); border: 1px solid var(--line); border-radius: 10px; padding: 0.8rem 0.95rem 0.85rem; }
.tile dt { color: var(--quiet); font-size: 0.8rem; line-height: 1.3; }
.tile b { font-size: 1.65rem; font-weight: 620; line-height: 1.35; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.tile span { display: block; color: var(--quiet); font-size: 0.78rem; line-height: 1.4; }

.settings { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: 0 2.25rem; font-size: 0.88rem; }
.settings div { display: flex; justify-content: space-between; gap: 1rem; padding: 0.32rem 0; border-bottom: 1px solid var(--line); }
.settings dt { color: var(--quiet); white-space: nowrap; }
.settings dd { text-align: right; font-weight: 550; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }

.charts { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 2.25rem 2.5rem; }
.chart { display: flex; flex-direction: column; min-width: 0; break-inside: avoid; }
.chart.large { grid-column: 1 / -1; }
.charts > .chart:last-child:nth-child(even) { grid-column: 1 / -1; }
figcaption { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 0.7rem; margin-bottom: 0.7rem; }
figcaption p { color: var(--quiet); font-size: 0.8rem; }
.large h3 { font-size: 1.15rem; font-weight: 650; letter-spacing: -0.01em; }
.frame { display: grid; grid-template-columns: 2.9rem minmax(0, 1fr) 4.1rem; margin-top: auto; font-size: 0.75rem; line-height: 1; color: var(--quiet); font-variant-numeric: tabular-nums; }
.many .frame { grid-template-columns: 2.9rem minmax(0, 1fr) 0.4rem; }
.ended .frame { grid-template-columns: 2.9rem minmax(0, 1fr) var(--ends); }
.ys, .plot, .ends { position: relative; height: 11.5rem; grid-row: 1; }
.large .ys, .large .plot, .large .ends { height: 21rem; }
.xs { position: relative; height: 1.9rem; grid-column: 2; grid-row: 2; }
.ys span { position: absolute; right: 0.55rem; transform: translateY(-50%); }
.xs span { position: absolute; top: 0.55rem; transform: translateX(-50%); }
.xs em { position: absolute; right: 0; bottom: -0.35rem; font-style: normal; font-size: 0.7rem; }
.ends span { position: absolute; left: 0.65rem; right: 0; transform: translateY(-50%); color: var(--ink); line-height: 1.2; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.ends b, .legend b { font-weight: 620; }
.ended .ends span { font-size: 0.82rem; }
.ended .ends span::before { content: ""; display: inline-block; width: 0.6rem; height: 3px; margin-right: 0.4rem; border-radius: 2px; background: var(--c); vertical-align: 0.22em; }
.plot > svg { display: block; width: 100%; height: 100%; overflow: visible; pointer-events: none; }
.plot { border-bottom: 1px solid var(--quiet); }
path { fill: none; vector-effect: non-scaling-stroke; }
.grid { stroke: var(--grid); stroke-width: 1; }
.reference { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 2 4; }
.reference-label { position: absolute; left: 0.4rem; padding: 0 0.3rem; transform: translateY(18%); color: var(--ink); border-radius: 3px; line-height: 1.3; }
.line { stroke: var(--c); stroke-width: 1.3; stroke-linejoin: round; stroke-linecap: round; }
.line.strong { stroke-width: 2.3; }
.dot { stroke: var(--c); stroke-width: 6.5; stroke-linecap: round; }
.halo { stroke: var(--ground); stroke-width: 9.5; stroke-linecap: round; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); } .c4 { --c: var(--c4); } .c5 { --c: var(--c5); }
.line.dash1 { stroke-dasharray: 7 4; stroke-linecap: butt; }
.line.dash2 { stroke-dasharray: 2 3; stroke-linecap: butt; }
.swatch { width: 1.4rem; height: 0.5rem; margin-right: 0.4rem; vertical-align: 0.08em; overflow: visible; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.1rem 1.1rem; margin: -0.35rem 0 0.6rem; font-size: 0.8rem; }
.legend li { overflow-wrap: anywhere; }
.legend b { margin-left: 0.2rem; font-variant-numeric: tabular-nums; }
.ended .legend { display: none; }

.hit { position: absolute; inset: 0; cursor: crosshair; touch-action: pan-y; border-radius: 3px; }
.hair { position: absolute; top: 0; bottom: 0; width: 0; border-left: 1px solid var(--quiet); pointer-events: none; }
.spot { position: absolute; width: 9px; height: 9px; margin: -4.5px 0 0 -4.5px; border-radius: 50%; background: var(--c); border: 1.5px solid var(--ground); pointer-events: none; }
.tip {
  position: absolute; top: 0.4rem; z-index: 2; width: max-content; max-width: min(24rem, calc(100vw - 1rem)); padding: 0.45rem 0.6rem; background: var(--raised); color: var(--ink); border: 1px solid var(--line); border-radius: 7px;
  box-shadow: 0 4px 16px rgb(0 0 0 / 0.13); font-size: 0.78rem; line-height: 1.5; pointer-events: none; font-variant-numeric: tabular-nums;
}
.tip div { display: flex; justify-content: space-between; gap: 1rem; }
.tip div > span { overflow-wrap: anywhere; }
.tip div > span::before { content: ""; display: inline-block; width: 0.6rem; height: 3px; margin-right: 0.4rem; border-radius: 2px; background: var(--c); vertical-align: 0.22em; }
.tip b { font-weight: 620; }
[hidden] { display: none; }

.map { max-width: 68rem; }
.map.polar { max-width: 46rem; }
.map h2 { margin: 0; }
.map .legend { margin: 0 0 0.6rem; }
.find { margin-bottom: 0.7rem; font-size: 0.85rem; }
.find input { width: 11rem; padding: 0.3rem 0.5rem; border: 1px solid var(--quiet); border-radius: 6px; background: var(--raised); color: inherit; font: inherit; }
.plane { position: relative; font-size: 0.72rem; line-height: 14px; }
.plane > svg { display: block; width: 100%; height: auto; overflow: visible; pointer-events: none; }
.plane .hit { touch-action: pan-y pinch-zoom; }
.point { stroke: var(--c); stroke-width: 6; stroke-linecap: round; }
.f0 { --c: var(--f0); } .f1 { --c: var(--f1); } .f2 { --c: var(--f2); } .f3 { --c: var(--f3); } .f4 { --c: var(--f4); } .f5 { --c: var(--f5); }
.marked { --c: var(--ink); }
.g0 { --c: var(--c0); } .g1 { --c: var(--c1); } .g2 { --c: var(--c2); } .g3 { --c: var(--c3); } .g4 { --c: var(--c4); } .g5 { --c: var(--c5); }
.other { --c: var(--quiet); stroke-width: 2.5; opacity: 0.4; }
circle.grid { fill: none; vector-effect: non-scaling-stroke; }
.at { position: absolute; white-space: nowrap; color: var(--ink); text-shadow: 0 0 2px var(--ground), 0 0 2px var(--ground), 0 0 3px var(--ground), 0 0 3px var(--ground); }
.at.r { transform: translate(5px, -50%); } .at.l { transform: translate(calc(-100% - 5px), -50%); }
.at.a { transform: translate(-50%, calc(-100% - 5px)); } .at.b { transform: translate(-50%, 5px); }
.at.group { transform: translate(-50%, -50%); font-weight: 620; }
.group::before { content: ""; display: inline-block; width: 0.6rem; height: 0.6rem; margin-right: 0.35rem; border-radius: 50%; background: var(--c); }
.ring { position: absolute; left: 50%; transform: translate(-50%, -50%); padding: 0 0.2rem; background: var(--ground); color: var(--quiet); line-height: 1; }
.plane .spot { --c: var(--accent); width: 13px; height: 13px; margin: -6.5px 0 0 -6.5px; background: transparent; border: 2.5px solid var(--accent); }

.scroll { overflow-x: auto; margin-bottom: 1.75rem; border-radius: 3px; }
table { border-collapse: collapse; min-width: 100%; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 620; font-size: 0.95rem; padding-bottom: 0.4rem; }
th, td { padding: 0.38rem 0.75rem; text-align: left; border-bottom: 1px solid var(--line); font-weight: 400; vertical-align: baseline; }
th:first-child, td:first-child { padding-left: 0; } th:last-child, td:last-child { padding-right: 0.2rem; }
thead th { vertical-align: bottom; color: var(--quiet); font-size: 0.8rem; border-bottom-color: var(--quiet); }
tbody td { overflow-wrap: anywhere; }
table:not(.numbers) :is(th, td) { min-width: 7rem; }
.numbers th:not(:first-child), .numbers td { text-align: right; white-space: nowrap; }
.numbers thead th:not(:first-child) { white-space: normal; line-height: 1.3; }
.numbers tbody th { white-space: nowrap; }
tr.marked > * { background: var(--mark); font-weight: 620; }
.name { overflow-wrap: anywhere; }

.samples { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; }
.sample dl { display: grid; grid-template-columns: minmax(4.5rem, auto) minmax(0, 1fr); gap: 0.15rem 1rem; font-size: 0.95rem; }
.sample dt { color: var(--quiet); font-size: 0.85rem; } .sample dd { overflow-wrap: anywhere; }
table.attention { min-width: 0; font-size: 0.78rem; }
.attention th, .attention td { min-width: 0 !important; padding: 0; border: 0; }
.attention thead th { vertical-align: bottom; } .attention thead span { display: inline-block; writing-mode: vertical-rl; transform: rotate(180deg); padding: 0.25rem 0; }
.attention tbody th { padding-right: 0.5rem; text-align: right; white-space: nowrap; color: var(--quiet); }
.attention tbody td { width: 1.7rem; height: 1.7rem; text-align: center; vertical-align: middle; border: 1px solid var(--ground); background: color-mix(in srgb, var(--accent) calc(var(--a) * var(--depth)), var(--raised)); }
.attention td span { opacity: 0; } .attention td:hover span { opacity: 1; }

.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 0 2.5rem; margin-top: 1.25rem; align-items: start; }

details { margin-top: 0.9rem; }
details .scroll { margin-top: 0.75rem; }
summary { cursor: pointer; width: fit-content; color: var(--accent); font-size: 0.9rem; border-radius: 3px; }
pre { margin: 0.6rem 0 0; padding: 0.9rem 1rem; max-height: 32rem; overflow: auto; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; font: 0.8rem/1.5 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; }

@media (max-width: 46rem) {
  main { padding: 1.5rem 1rem 3rem; }
  section { margin-top: 2.25rem; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.6rem; }
  .tile b { font-size: 1.4rem; }
  .charts { grid-template-columns: minmax(0, 1fr); gap: 2rem; }
  .large .ys, .large .plot, .large .ends { height: 16rem; }
  .ended .legend { display: flex; }
  .at.desk { display: none; }
  .ended .ends { display: none; }
  .ended .frame { grid-template-columns: 2.9rem minmax(0, 1fr) 0.4rem; }
  .settings { grid-template-columns: minmax(0, 1fr); }
}
@media print { .hit, .hair, .tip, .spot { display: none; } section { break-inside: auto; } }
)css";
