export const drawingStyle = `
:root { color-scheme: light dark; --page: #fff; --ink: #1d2433; --soft: #5b6578; --line: #e3e7ee; --lane: #f6f7fa;
  --text: #2463eb; --thinking: #8a3ffc; --call: #0b8a7d; --wait: #c3cad6; --answer: #dbe7ff; --silence: #f6b73c;
  --retry: #e8590c; --rateLimit: #c2255c; --running: #14a08f; --queued: #d5dae3; --approval: #e9b949; --void: #8b93a3;
  --turn: #d9dee8; --good: #237032; --bad: #d6293e; --failed: #d6293e; --focus: #2463eb; --names: 17rem; --zoom: 1; }
@media (prefers-color-scheme: dark) { :root { --page: #12151c; --ink: #e7eaf1; --soft: #9aa4b8; --line: #2a303d;
  --lane: #1a1f29; --text: #6ea0ff; --thinking: #b58bff; --call: #3fd0bf; --wait: #4a5365; --answer: #1f3260;
  --silence: #c98a12; --retry: #ff8a4c; --rateLimit: #ff6b9d; --running: #17877a;
  --queued: #3a4252; --approval: #b98a1e;
  --void: #6d7688; --turn: #343c4c; --good: #69c97c; --bad: #ff6b7a; --failed: #c23a4a;
  --focus: #8ab4ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; }
header, section, details { padding: 0 1.25rem; }
h1 { font-size: 1.15rem; line-height: 1.3; margin: 1rem 0 .5rem; overflow-wrap: anywhere; }
dl.facts { display: flex; flex-wrap: wrap; gap: .3rem 1.6rem; margin: 0 0 .8rem; }
dl.facts div { display: flex; gap: .4rem; }
dt { color: var(--soft); } dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
.bar-of-tools { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: 0 1.25rem .6rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem .9rem; color: var(--soft); font-size: 12px; margin: 0; padding: 0;
  list-style: none; }
.legend i { display: inline-block; width: .9em; height: .9em; border-radius: 2px; margin-right: .35em;
  vertical-align: -1px; background: var(--c); }
button { font: inherit; color: inherit; background: var(--lane); border: 1px solid var(--line); border-radius: 6px;
  padding: .15rem .6rem; min-height: 28px; cursor: pointer; }
button:hover { border-color: var(--soft); }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
.chart { overflow-x: auto; border-block: 1px solid var(--line); }
.plane { position: relative; width: calc(var(--names) + (100% - var(--names)) * var(--zoom)); min-width: 100%; }
.axis, .lane { display: grid; grid-template-columns: var(--names) 1fr; }
.axis { position: sticky; top: 0; height: 24px; font-size: 11px; color: var(--soft); }
.axis .ticks { position: relative; }
.axis .ticks, .track { margin-right: 20px; }
.axis span { position: absolute; top: 4px; transform: translateX(-50%); white-space: nowrap; }
.axis span:first-child { transform: none; } .axis span.last { transform: translateX(-100%); }
ol.lanes { list-style: none; margin: 0; padding: 0; position: relative; }
.lane { border-top: 1px solid var(--line); content-visibility: auto; contain-intrinsic-size: auto 35px; }
.name { position: sticky; left: 0; z-index: 2; background: var(--page); padding: 3px .75rem 3px 1.25rem;
  padding-left: calc(1.25rem + var(--depth) * .9rem); min-height: 34px; border-right: 1px solid var(--line);
  overflow: hidden; }
.name b { display: block; font-weight: 600; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.name small { display: block; color: var(--soft); font-size: 11px; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.lane.run > .name b, .lane.turn > .name b { font-size: 13px; }
.lane.failed b::after { content: ' ✗'; color: var(--bad); } .lane.stopped b::after { content: ' ■';
    color: var(--soft); }
.lane.void b { text-decoration: line-through; color: var(--soft); }
.track { position: relative; min-height: 34px; background:
  repeating-linear-gradient(to right, var(--line) 0 1px, transparent 1px var(--step)) var(--lane); cursor: crosshair; }
.track.here { box-shadow: inset 0 0 0 1px var(--focus); }
.span { position: absolute; top: 9px; height: 16px; min-width: 2px; border-radius: 3px; background: var(--c);
  font-size: 10px; line-height: 16px; overflow: hidden; white-space: nowrap; color: var(--ink); }
.span:has(em) { padding: 0 4px; container-type: inline-size; }
.span em { display: block; font-style: normal; overflow: hidden; text-overflow: ellipsis; }
@container (max-width: 44px) { .span em { display: none; } }
.span.turn, .span.wait, .span.queued { top: 14px; height: 6px; }
.span.answer { top: 4px; height: 26px; }
.span.running, .span.retry, .span.rateLimit { color: #fff; text-shadow: 0 0 2px rgb(0 0 0 / .55); }
.lane.failed > .track > .span.running { --c: var(--failed) !important; }
.span.silence, .span.rateLimit, .span.retry, .span.approval { background-image: repeating-linear-gradient(45deg,
  rgb(255 255 255 / .35) 0 3px, transparent 3px 8px); background-color: var(--c); }
.span.void { top: 27px; height: 2px; background: var(--void); z-index: 1; }
svg.deltas { position: absolute; inset: 4px 0 auto; width: 100%; height: 26px; pointer-events: none;
    overflow: visible; }
svg.deltas path { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.deltas .text { stroke: var(--text); } .deltas .thinking { stroke: var(--thinking); }
.deltas .call { stroke: var(--call); }
.deltas .void { stroke: var(--void); stroke-dasharray: 2 2; }
.mark { position: absolute; top: 8px; width: 18px; height: 18px; margin-left: -9px; text-align: center;
    line-height: 18px;
  font-size: 13px; color: var(--c); pointer-events: none; z-index: 1;
  text-shadow: 0 0 2px var(--page), 0 0 2px var(--page); }
.mark.progress { top: 25px; height: 9px; line-height: 9px; font-size: 9px; }
.request > .track > .mark.retract { margin-left: -19px; }
.tool > .track > .mark.result, .tool > .track > .mark.error { margin-left: 1px; }
.mark.first { margin-left: 0; }
.cursor { position: absolute; top: 0; bottom: 0; width: 0; border-left: 1.5px solid var(--focus); pointer-events: none;
  z-index: 1; } .cursor[hidden] { display: none; }
.panel { padding: .75rem 1.25rem 1.25rem; }
.panel h2 { font-size: .95rem; margin: 0 0 .4rem; }
.panel .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; }
.panel h3 { font-size: 12px; margin: 0 0 .25rem; color: var(--soft); font-weight: 600; }
pre { margin: 0; padding: .6rem .75rem; background: var(--lane); border: 1px solid var(--line); border-radius: 6px;
  font: 12px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 24rem;
  overflow: auto; }
details { margin: .25rem 0 1.5rem; } summary { cursor: pointer; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: 12px; margin-top: .5rem; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
kbd { font: 11px ui-monospace, monospace; border: 1px solid var(--line); border-radius: 4px; padding: 0 .3em; }
.hint { color: var(--soft); font-size: 12px; margin: 0 0 0 auto; }
@media (max-width: 640px) {
  header, .bar-of-tools, .panel, details { padding-inline: .8rem; }
  .plane { width: calc(100% * var(--zoom)); }
  .axis, .lane { grid-template-columns: minmax(0, 1fr); }
  .axis > :first-child { display: none; }
  .name { min-height: 0; padding: 4px .8rem 0; padding-left: calc(.8rem + var(--depth) * .7rem); border: 0;
    width: min(100%, 100vw); background: none; }
  .name b, .name small { display: inline; } .name small { margin-left: .5em; }
  .lane { padding-bottom: 2px; } .axis span.minor { display: none; } .hint { display: none; }
  td.optional, th.optional { display: none; } }
@media print { :root { --names: 13rem; } body { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  button, .hint, .panel, .cursor { display: none; } .chart { overflow: visible; } .plane { width: 100%; }
  .lane { break-inside: avoid; content-visibility: visible; }
  details::details-content { content-visibility: visible; block-size: auto; } }
`;

export const markSigns = {
  subscribe: ['▶', 'good'],
  unsubscribe: ['✂', 'bad'],
  stop: ['■', 'bad'],
  prompt: ['✎', 'text'],
  progress: ['◆', 'call'],
  result: ['✓', 'good'],
  error: ['✗', 'bad'],
  retract: ['↩', 'retry'],
} as const;

export const legend = [
  ['text', 'text'],
  ['thinking', 'thinking'],
  ['call', 'call fragments'],
  ['wait', 'waiting'],
  ['silence', 'silence of 1 s or more'],
  ['retry', 'pause before a retry'],
  ['rateLimit', 'rate limit'],
  ['running', 'tool'],
  ['approval', 'waits for a decision'],
  ['void', 'retracted'],
] as const;
