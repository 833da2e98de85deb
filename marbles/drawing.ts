import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseMarbleDiagramSpecification } from '@swirly/parser';
import { renderMarbleDiagram } from '@swirly/renderer-node';
import { lightStyles } from '@swirly/theme-default-light';
import { parseDiagram } from '../lib/testing/marbles/runDiagram.js';
import type { DiagramLine } from '../lib/testing/marbles/runDiagram.js';

/** The used part of Swirly's types. Their package, @swirly/types, is not among Swirly's dependencies. */
interface SwirlyMessage {
  readonly frame: number;
  readonly notification: { readonly kind: 'N' | 'C' | 'E'; readonly value?: unknown };
  styles?: Styles;
}
interface SwirlyStream {
  readonly kind: 'S';
  readonly title: string | null;
  readonly frame: number;
  duration: number;
  readonly messages: readonly SwirlyMessage[];
  styles?: Styles;
  decorations?: readonly { readonly kind: 'barrier'; readonly frame: number }[];
}
interface SwirlyDiagram {
  readonly content: readonly (SwirlyStream | { readonly kind: 'O' })[];
  readonly styles: Styles;
}
type Styles = Readonly<Record<string, string | number>>;

/** Labels of up to nine characters fit in an event; the mark of completion is taller than an event. */
const styles: Styles = {
  canvas_padding: 16,
  frame_width: 40,
  event_radius: 30,
  event_value_font_size: 12,
  stacking_height: 64,
  completion_height: 76,
  stream_spacing: 4,
  stream_title_font_size: 16,
  operator_corner_radius: 8,
  operator_height: 46,
  operator_title_font_size: 18,
  operator_title_font_family: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
};

/** Events in adjacent frames would overlap: such a diagram has wider frames. */
function frameWidth(lines: readonly DiagramLine[]): Styles {
  const crowded = lines.some(({ events }) => {
    const frames = new Set(events.filter(({ mark }) => /[^|#]/.test(mark)).map(({ frame }) => frame));
    return [...frames].some((frame) => frames.has(frame + 1));
  });
  return crowded ? { frame_width: 64 } : {};
}

const faint = '#b8b8b8';

/** The streams of a diagram as Swirly reads them, in the order of the text. */
export function swirlyStreams(text: string): readonly SwirlyStream[] {
  const { content } = parseMarbleDiagramSpecification(text) as SwirlyDiagram;
  return content.filter((item) => item.kind === 'S');
}

/**
 * Adds what Swirly does not draw: the full length of a line that does not end, an early unsubscription (dashed), and a
 * line that is never subscribed (faint).
 */
function addDetails(stream: SwirlyStream, { marbles, start, subs }: DiagramLine): void {
  if (!/[|#]/.test(marbles)) stream.duration = Math.max(stream.duration, marbles.length - 1);
  if (!subs) return;
  const ends = subs.map((one) => one.replace(/[()]/g, '').indexOf('!')).filter((frame) => frame >= 0);
  stream.decorations = ends.map((frame) => ({ kind: 'barrier', frame: frame - start }));
  stream.duration = Math.max(stream.duration, ...ends.map((frame) => frame - start));
  if (subs.length > 0) return;
  stream.styles = { arrow_stroke_color: faint };
  for (const message of stream.messages) {
    message.styles = { fill_color: 'white', stroke_color: faint, value_color: faint, color: faint };
  }
}

/**
 * Draws a diagram.
 *
 * @param text The diagram, in the syntax of `parseDiagram`.
 * @returns The SVG: on white, so that it is readable on a dark page. Its title is the first sentence of the prose.
 */
export function drawDiagram(text: string): string {
  const { inputs, output, inners, operator, description } = parseDiagram(text);
  const specification = parseMarbleDiagramSpecification(text) as SwirlyDiagram;
  const streams = specification.content.filter((item) => item.kind === 'S');
  const lines = [...inputs, output];
  streams.forEach((stream, index) => addDetails(stream, lines[index]!));
  const longest = Math.max(...streams.map(({ title }) => title?.length ?? 0));
  const fitted = {
    ...frameWidth([...lines, ...Object.values(inners)]),
    stream_title_width: longest * 8.5 + 24,
    minimum_width: operator.length * 11 + 40,
  };
  const { xml } = renderMarbleDiagram(specification, { styles: { ...lightStyles, ...styles, ...fitted } as never }) as {
    xml: string;
  };
  const summary = firstSentence(description).replace(/&/g, '&amp;').replace(/</g, '&lt;');
  return `${xml
    .replace(/^<svg ([^>]*)>/, `<svg $1 role="img"><title>${summary}</title>`)
    .replaceAll('><', '>\n<') // so that a change of a drawing changes few lines
    .replaceAll('dominant-baseline="middle"', 'dy="0.35em"') // librsvg and others do not support the former
    .replace(/\d+\.\d{3,}/g, (number) => String(Math.round(Number(number) * 100) / 100))}\n`;
}

/** The first sentence of a description: the alternative text of the picture. */
export function firstSentence(description: string): string {
  return /^.*?[.:?](?=\s|$)/s.exec(description)?.[0].replace(/\s+/g, ' ') ?? '';
}

/** The sorted names of the files in a folder with an ending, without the ending. */
export const namesIn = (folder: string, ending: string): readonly string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .map((file) => file.slice(0, -ending.length))
    .sort();

/**
 * Draws every <name>.txt of a folder to <name>.svg.
 *
 * @param folder The folder.
 * @param check Writes nothing, and reports missing and out-of-date drawings as problems.
 * @returns The problems, with how to fix them: invalid texts, drawings without a text.
 */
export function drawFolder(folder: string, check: boolean): readonly string[] {
  const texts = namesIn(folder, '.txt');
  const drawings = namesIn(folder, '.svg');
  const orphans = drawings
    .filter((name) => !texts.includes(name))
    .map((name) => `${name}.svg has no ${name}.txt: remove it.`);
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const problems = texts.map((name) => {
    try {
      const svg = drawDiagram(read(`${name}.txt`));
      if (drawings.includes(name) && read(`${name}.svg`) === svg) return '';
      if (check)
        return `${name}.svg ${drawings.includes(name) ? `differs from a fresh drawing of ${name}.txt` : 'is missing'}: npm run marbles`;
      writeFileSync(join(folder, `${name}.svg`), svg);
      return '';
    } catch (error) {
      return `${name}.txt: ${error instanceof Error ? error.message : String(error)}`;
    }
  });
  return [...orphans, ...problems].filter(Boolean);
}
