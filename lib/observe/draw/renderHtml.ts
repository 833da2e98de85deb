import { groupByKey } from '../../core/lists.js';
import { formatTime, type Drawing, type Lane, type Mark, type Span, type Tick } from './drawnLane.js';
import { pageScript } from './script.js';
import { drawingStyle, legend, markSigns } from './style.js';
import type { WireOfRun } from './wire.js';

export const pageHead = '<!doctype html>\n<html lang="en">\n<meta name="generator" content="rivulet">';

/** The page loads nothing. Its policy allows only this release's script, so no recording can run code. */
export function renderPage(drawing: Drawing, wire: WireOfRun, startTime: number): string {
  const { html, data } = renderDrawing(drawing, wire, startTime);
  return `${pageHead}
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escape(drawing.title)}</title>
<style>${drawingStyle}</style>
<body>
<main>${html}</main>
<script type="application/json" id="data">${jsonForScript(data)}</script>
<script>${pageScript()}</script>
</body>
</html>
`;
}

export interface RenderedDrawing {
  readonly html: string;
  readonly data: object;
}

export const renderDrawing = (drawing: Drawing, wire: WireOfRun, startTime: number): RenderedDrawing => ({
  html: drawingElements(drawing),
  data: drawingData(drawing, wire, startTime),
});

const jsonForScript = (value: unknown): string => JSON.stringify(value).replaceAll('<', String.raw`\u003c`);

function drawingData({ root, items, duration }: Drawing, wire: WireOfRun, startTime: number) {
  const placed = flatten(root);
  const lanes = new Map(placed.map(({ lane }, index) => [lane, index]));
  const frames = [...wire].flatMap(([request, exchanges]) =>
    exchanges.flatMap(({ at, after, exchange }) =>
      exchange.frames.map((text, index) => ({ request, at: at + (after[index] ?? 0) - startTime, text })),
    ),
  );
  const byRequest = groupByKey([...frames.keys()], (index) => frames[index]?.request);
  const next = new Map<number, number>();
  const frameBefore = (request: number, time: number): readonly number[] => {
    const ofRequest = byRequest.get(request) ?? [];
    let index = next.get(request) ?? 0;
    while ((frames[ofRequest[index] ?? -1]?.at ?? Infinity) <= time) index++;
    next.set(request, index);
    return ofRequest.slice(Math.max(0, index - 1), index);
  };
  return {
    duration: Math.max(duration, 1),
    frames: frames.map(({ text }) => text),
    items: items.map(({ at, lane, kind, type, value }) => {
      const frame = lane.request === undefined ? [] : frameBefore(lane.request, at);
      return [at, lanes.get(lane) ?? 0, kind, type, value, ...frame];
    }),
    rows: placed.map(tableRow),
  };
}

function tableRow({ lane, depth }: PlacedLane): readonly [depth: number, ...cells: string[]] {
  const { name, note, start, end, outcome, spans, marks } = lane;
  const details = [...spans, ...marks].map(({ label }) => label).filter((label) => label !== '');
  const duration = end === undefined ? '' : formatTime(end - start);
  return [depth, name, formatTime(start), duration, outcome, note, [...new Set(details)].slice(0, 12).join('; ')];
}

function drawingElements(drawing: Drawing): string {
  const { title, facts, root } = drawing;
  const duration = Math.max(drawing.duration, 1);
  const lanes = flatten(root);
  const step = niceStep(duration);
  const terms = facts.map(({ name, value }) => `<div><dt>${name}</dt><dd>${escape(value)}</dd></div>`);
  const items = legend.map(([color, text]) => `<li><i style="--c:var(--${color})"></i>${text}</li>`);
  return `<header><h1>${escape(title)}</h1>
<dl class="facts">${terms.join('')}</dl>
</header>
<div class="bar-of-tools"><span><button class="zoom-out" aria-label="Zoom out">−</button>
<button class="zoom-in" aria-label="Zoom in">+</button></span><ul class="legend">${items.join('')}</ul>
<p class="hint"><kbd>←</kbd> <kbd>→</kbd> events, <kbd>↑</kbd> <kbd>↓</kbd> lanes, <kbd>+</kbd> <kbd>−</kbd> zoom</p>
</div>
<div class="chart" tabindex="0" role="application"
aria-label="Timeline of the run. Arrow keys select events and lanes.">
<div class="plane" style="--step:${percent(step, duration)}"><div class="axis" aria-hidden="true"><div></div>
<div class="ticks">${axisTicks(duration, step)}</div></div>
<ol class="lanes">${lanes.map(({ lane, depth }) => renderLane(lane, depth, duration)).join('\n')}
<li class="cursor" hidden aria-hidden="true"></li></ol></div></div>
<section class="panel" hidden aria-live="polite"><h2></h2><div class="columns">
<div><h3>Event</h3><pre class="json" tabindex="0"></pre></div>
<div hidden><h3>Last frame of the wire</h3><pre class="frame" tabindex="0"></pre></div></div></section>
<details><summary>The run as a table</summary><table><thead><tr><th>Lane</th><th class="number">Start</th>
<th class="number">Duration</th><th>Outcome</th><th>Note</th><th class="optional">Details</th></tr></thead>
<tbody></tbody></table></details>`;
}

interface PlacedLane {
  readonly lane: Lane;
  readonly depth: number;
}

const flatten = (lane: Lane, depth = 0): readonly PlacedLane[] => [
  { lane, depth },
  ...lane.children.flatMap((child) => flatten(child, depth + 1)),
];

function renderLane(lane: Lane, depth: number, duration: number): string {
  const { kind, name, note, outcome, spans, marks, ticks } = lane;
  const described = `${escape(name)}${note === '' ? '' : `<small>${escape(note)}</small>`}`;
  const [label = '', small = ''] = described.split(/(?=<small>)/);
  const heading = `<div class="name" title="${escape(`${name} ${note}`)}"><b>${label}</b>${small}</div>`;
  const drawn = [
    ...inOrder(spans).map((span) => renderSpan(span, duration)),
    ticks.length > 0 ? renderTicks(ticks, duration) : '',
    ...marks.map((mark) => renderMark(mark, duration)),
  ].join('');
  const track = `<div class="track">${drawn}</div>`;
  return `<li class="lane ${kind} ${outcome}" style="--depth:${depth}">${heading}${track}</li>`;
}

const inOrder = (spans: readonly Span[]): readonly Span[] => [
  ...spans.filter(({ kind }) => kind === 'answer'),
  ...spans.filter(({ from, to, kind }) => kind !== 'answer' && (to > from || kind === 'running')),
];

/** Labels that are shown if they fit. Other spans are too flat, or are behind the deltas. */
const labelled: ReadonlySet<Span['kind']> = new Set(['silence', 'retry', 'rateLimit', 'approval', 'running']);

function renderSpan({ kind, from, to, label }: Span, duration: number): string {
  const place = `left:${percent(from, duration)};width:${percent(Math.min(to, duration) - from, duration)}`;
  const text = escape(label);
  const shown = labelled.has(kind) ? `<em>${text}</em>` : '';
  return `<div class="span ${kind}" style="${place};--c:var(--${kind})" title="${text}">${shown}</div>`;
}

function renderMark({ kind, at, label }: Mark, duration: number): string {
  const [sign, color] = markSigns[kind];
  const edge = at < duration * 0.01 ? ' first' : '';
  const style = `left:${percent(at, duration)};--c:var(--${color})`;
  return `<div class="mark ${kind}${edge}" style="${style}" title="${escape(label)}">${sign}</div>`;
}

/** 10,000 deltas are one path of bounded length. */
const COLUMNS = 4000;

function renderTicks(ticks: readonly Tick[], duration: number): string {
  const sizes = new Map<string, Map<number, number>>();
  for (const { kind, at, size, isVoid } of ticks) {
    const type = isVoid ? 'void' : kind;
    const column = Math.round((at / duration) * COLUMNS);
    const ofType = sizes.get(type) ?? new Map<number, number>();
    ofType.set(column, (ofType.get(column) ?? 0) + size);
    sizes.set(type, ofType);
  }
  const paths = [...sizes].map(([type, ofType]) => {
    const strokes = [...ofType].map(([column, size]) => `M${column} 26V${26 - strokeHeight(size)}`);
    return `<path class="${type}" d="${strokes.join('')}"/>`;
  });
  const box = `viewBox="0 0 ${COLUMNS} 26" preserveAspectRatio="none"`;
  return `<svg class="deltas" ${box} aria-hidden="true">${paths.join('')}</svg>`;
}

const strokeHeight = (size: number): number => Math.min(26, Math.round(6 + 3.2 * Math.log(Math.max(1, size))));

function axisTicks(duration: number, step: number): string {
  const count = Math.floor(duration / step);
  return Array.from({ length: count + 1 }, (_, index) => {
    const at = index * step;
    const minor = index % 2 === 1 ? 'minor' : '';
    const last = at > duration * 0.96 ? 'last' : '';
    return `<span class="${minor} ${last}" style="left:${percent(at, duration)}">${formatTime(at)}</span>`;
  }).join('');
}

function niceStep(duration: number): number {
  const power = 10 ** Math.floor(Math.log10(duration / 8));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => duration / step <= 8) ?? 10 * power;
}

const percent = (part: number, duration: number): string => `${Number(((100 * part) / duration).toFixed(4))}%`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? character);

/** The hashes of `pageScript` and `drawingStyle`: a spec compares them. `style-src-attr` is for spans. */
const pagePolicy = /* @__PURE__ */ [
  "default-src 'none'",
  "script-src 'sha256-zx2jUMKXnlel+e5KtpepzUFRCUqUFJ+Jzy7nx7n70oA='",
  "style-src 'sha256-jmgCavXMFwIQQH06ptbJBkGv1yTQzpLdtwIE68b1990='",
  "style-src-attr 'unsafe-inline'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');
