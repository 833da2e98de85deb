import { readMarbles, readSubscriptions, reject } from './line.js';
import type { DiagramLine, SourceLine } from './line.js';
import { readDefinitions, readError, resolveValues } from './values.js';

/** A diagram's text, read. */
export interface Diagram {
  /** Its prose: the `% ...` lines. The first sentence says what the picture shows. */
  readonly description: string;
  /** The title of the box: `> title`. */
  readonly operator: string;
  /** The values of `%: name = <JSON>`, references put in place, and of the letters without one: themselves. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The fields of the error of every `#`. Default: the message `error`. */
  readonly error: Readonly<Record<string, unknown>>;
  /** The streams above the box. */
  readonly inputs: readonly DiagramLine[];
  /** The streams that are values (`x = --a|`), by letter. */
  readonly inners: Readonly<Record<string, DiagramLine>>;
  /** The stream below the box. */
  readonly output: DiagramLine;
}

type Block = readonly [head: SourceLine, ...rest: SourceLine[]];

const isComment = ({ text }: SourceLine) => /^\s*%/.test(text);

function blocksOf(lines: readonly SourceLine[]): readonly Block[] {
  const blocks: [SourceLine, ...SourceLine[]][] = [];
  let open: SourceLine[] | undefined;
  for (const line of lines) {
    if (line.text.trim() === '') open = undefined;
    else if (open) open.push(line);
    else blocks.push((open = [line]) as [SourceLine]);
  }
  return blocks;
}

/** Reads what stands below a line of marbles. Swirly ignores what it does not know, a second line of marbles too: here it is an error. */
function readConfig(
  lines: readonly SourceLine[],
  marbles: string,
): ReadonlyMap<string, readonly [value: string, line: SourceLine]> {
  const config = new Map<string, readonly [string, SourceLine]>();
  for (const line of lines) {
    const [, key = '', sign, value = ''] = /^(.*?)\s*(:?=)\s*(.*)$/.exec(line.text.trim()) ?? [];
    if (sign === ':=' ? !/^[A-Za-z0-9]$/.test(key) : !/^(title|kind|subs|error|ghosts)$/.test(key)) {
      reject(
        line,
        'Swirly ignores this line',
        'Write "title", "kind", "subs", "error" or "ghosts = ...", or "a := label"; put a blank line before a further stream.',
      );
    }
    if (sign === ':=' && !marbles.includes(key))
      reject(line, `"${key}" is not drawn on the line above`, 'Take the label out.');
    if (key === 'title' && !/[^\d.+-]/.test(value))
      reject(line, 'Swirly draws no title that is a number', 'Use a word.');
    if (key === 'kind' && value !== 'hot' && value !== 'cold')
      reject(line, `"${value}" is no kind of stream`, 'Write "kind = hot" or "kind = cold".');
    config.set(sign === ':=' ? `label ${key}` : key, [value, line]);
  }
  return config;
}

function readLine(
  [head, ...rest]: Block,
  letter: string | undefined,
  drawn: string,
  title: string,
  inners: Readonly<Record<string, unknown>>,
): DiagramLine {
  const marbles = drawn.trim();
  const events = readMarbles(marbles, head);
  const config = readConfig(rest, marbles);
  for (const { mark } of events) {
    if (inners[mark] && letter)
      reject(head, `"${mark}" is a stream inside an inner stream, which Swirly cannot draw`, 'Draw one level.');
    if (inners[mark] && config.has(`label ${mark}`))
      reject(head, `the label hides the inner stream "${mark}"`, 'Take the label out.');
  }
  const [subs, error] = [config.get('subs'), config.get('error')];
  const line: DiagramLine = {
    title: config.get('title')?.[0] ?? title,
    marbles,
    start: drawn.length - drawn.trimStart().length,
    events,
    hot: config.get('kind')?.[0] === 'hot',
    ...(subs && { subs: readSubscriptions(...subs) }),
    ...(error && { error: readError(...error) }),
  };
  if (subs && letter) reject(subs[1], 'an inner stream is subscribed as often as it is emitted', 'Take "subs" out.');
  const first = line.subs?.[0]?.replace('(', '').indexOf('^');
  if (subs && !line.hot && first !== undefined && first !== line.start) {
    reject(
      subs[1],
      `the line is drawn from frame ${line.start} and subscribed at ${first}`,
      'Count "subs" in frames of the whole diagram, and let its first "^" stand under the beginning of the line.',
    );
  }
  return line;
}

interface Drawing {
  operator?: string;
  readonly inputs: DiagramLine[];
  readonly outputs: DiagramLine[];
  readonly inners: Record<string, DiagramLine>;
  readonly drawn: Set<string>;
}

function readBlock(block: Block, drawing: Drawing): void {
  const [head] = block;
  if (/^\[styles(\.[A-Za-z0-9])?\]$/.test(head.text)) return;
  if (head.text.startsWith('>')) {
    if (drawing.operator !== undefined)
      reject(head, 'a second operator', 'A diagram shows one: draw the composition as one box.');
    drawing.operator = head.text.slice(1).trim();
    return;
  }
  const [, letter, body] = /^([A-Za-z0-9])\s*=\s*(\S+)\s*$/.exec(head.text) ?? [];
  const below = drawing.operator !== undefined;
  const line = readLine(block, letter, body ?? head.text, letter ?? (below ? 'result' : 'source'), drawing.inners);
  for (const { mark } of line.events) drawing.drawn.add(mark);
  if (letter === undefined) {
    const others = below ? drawing.outputs : drawing.inputs;
    if (below && others.length > 0) reject(head, 'a second stream below the box', 'A diagram has one result.');
    if (below && line.hot) reject(head, 'the result is hot or cold as the operator makes it', 'Take "kind = hot" out.');
    if (below && line.subs && line.subs.length !== 1)
      reject(head, 'the result is subscribed once', 'Give "subs" one subscription.');
    if (others.some(({ title }) => title === line.title))
      reject(head, `a second stream called "${line.title}"`, 'Give each a name: "title = ..." below it.');
    others.push(line);
  } else {
    if (drawing.inners[letter]) reject(head, `"${letter}" is a stream already`, 'Use another letter.');
    if (drawing.drawn.has(letter))
      reject(
        head,
        `"${letter}" is drawn above its definition, where Swirly takes it for a marble`,
        'Define inner streams first.',
      );
    drawing.inners[letter] = line;
  }
}

/**
 * Reads a diagram: a text that Swirly draws and `runDiagram` runs.
 *
 * ```
 * % Every value is doubled.
 * %: a = 1
 * %: b = 2
 *
 * -a-|
 *
 * > map((n) => 2 * n)
 *
 * -b-|
 * ```
 *
 * @param text The diagram.
 * @returns What it says.
 * @throws ConfigurationError `diagram`, with the line and how to mend it: for all that Swirly would draw and the scheduler would read otherwise,
 * and for definitions that nothing draws.
 */
export function parseDiagram(text: string): Diagram {
  const lines = text.split('\n').map((line, index) => ({ number: index + 1, text: line.replace(/\r$/, '') }));
  const isDefinition = (line: SourceLine) => /^\s*%:/.test(line.text);
  const definitions = readDefinitions(lines.filter(isDefinition));
  const { values, referred } = resolveValues(definitions);
  const drawing: Drawing = { inputs: [], outputs: [], inners: {}, drawn: new Set() };
  for (const block of blocksOf(lines.filter((line) => !isComment(line)))) readBlock(block, drawing);

  const {
    operator,
    inputs,
    inners,
    drawn,
    outputs: [output],
  } = drawing;
  const end = lines.at(-1) ?? { number: 1, text: '' };
  if (!operator)
    return reject(end, 'no operator', 'Write "> operator" between the streams that go in and the one that comes out.');
  if (!output) return reject(end, 'no stream below the box', 'Draw what comes out of the operator.');
  for (const letter of Object.keys(inners))
    if (!drawn.has(letter)) reject(end, `the inner stream "${letter}" is drawn nowhere`, 'Take it out.');
  for (const [name, { line }] of definitions) {
    if (inners[name]) reject(line, `"${name}" is an inner stream as well`, 'Use another letter.');
    if (name.length === 1 && !drawn.has(name) && !referred.has(name))
      reject(line, `"${name}" is drawn nowhere`, 'Take the definition out.');
  }
  const letters = [...drawn].filter((mark) => /[A-Za-z0-9]/.test(mark) && !inners[mark]);
  return {
    description: lines
      .filter((line) => isComment(line) && !isDefinition(line))
      .map((line) => line.text.replace(/^\s*%\s*/, '').trim())
      .join('\n'),
    operator,
    values: { ...Object.fromEntries(letters.map((letter) => [letter, letter])), ...values },
    error: (definitions.get('#')?.json as Diagram['error'] | undefined) ?? { message: 'error' },
    inputs,
    inners,
    output,
  };
}
