import { readMarbles, readSubscriptions, reject, type DiagramLine, type SourceLine } from './line.js';
import { readDefinitions, readError, resolveValues, type Definitions } from './values.js';

/** A parsed diagram. */
export interface Diagram {
  /** The prose: the `% ...` lines. Its first sentence describes the picture. */
  readonly description: string;
  /** The title of the box: `> title`. */
  readonly operator: string;
  /**
   * The values of `%: name = <JSON>` with their references resolved. The value of a letter without a definition is the
   * letter.
   */
  readonly values: Readonly<Record<string, unknown>>;
  /** The fields of the error of every `#`. Default: the message `error`. */
  readonly error: Readonly<Record<string, unknown>>;
  /** The streams above the box. */
  readonly inputs: readonly DiagramLine[];
  /** The streams that are emitted as values (`x = --a|`), by letter. */
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

/** Swirly ignores unknown lines, even a second line of marbles: here they are errors. */
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
        'Write "title", "kind", "subs", "error" or "ghosts = ..." or "a := label". Separate streams by a blank line.',
      );
    }
    if (sign === ':=' && !marbles.includes(key))
      reject(line, `"${key}" is not drawn on the line above`, 'Remove the label.');
    if (key === 'title' && !/[^\d.+-]/.test(value))
      reject(line, 'Swirly does not draw a title that is a number', 'Use a word.');
    if (key === 'kind' && value !== 'hot' && value !== 'cold')
      reject(line, `"${value}" is not a kind of stream`, 'Write "kind = hot" or "kind = cold".');
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
      reject(head, `the label hides the inner stream "${mark}"`, 'Remove the label.');
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
  if (subs && letter) reject(subs[1], 'an inner stream is subscribed as often as it is emitted', 'Remove "subs".');
  const first = line.subs?.[0]?.replace('(', '').indexOf('^');
  if (subs && !line.hot && first !== undefined && first !== line.start) {
    reject(
      subs[1],
      `the line is drawn from frame ${line.start} and subscribed at ${first}`,
      'Count "subs" in frames of the complete diagram, and put its first "^" under the beginning of the line.',
    );
  }
  return line;
}

function rejectLongName(line: SourceLine, name: string): never {
  const letter = name.charAt(0);
  const label = `write "${letter} := ${name}" below the line to show the name`;
  reject(
    line,
    `"${name}" has ${name.length} characters, and a marble is one character`,
    `Use one: define "%: ${letter} = <JSON>" or "${letter} = --a|", draw "-${letter}-", and ${label}.`,
  );
}

/** The characters of a drawn name need definitions of their own. */
function rejectDrawnNames(line: SourceLine, marbles: string, definitions: Definitions): void {
  const words = marbles.match(/[A-Za-z0-9]{2,}/g) ?? [];
  for (const name of definitions.keys())
    if (name.length > 1 && Array.from(name).some((letter) => !definitions.has(letter)))
      if (words.some((word) => word.includes(name))) rejectLongName(line, name);
}

interface Drawing {
  operator?: string;
  readonly inputs: DiagramLine[];
  readonly outputs: DiagramLine[];
  readonly inners: Record<string, DiagramLine>;
  readonly drawn: Set<string>;
}

function readBlock(block: Block, drawing: Drawing, definitions: Definitions): void {
  const [head] = block;
  if (/^\[styles(\.[A-Za-z0-9])?\]$/.test(head.text)) return;
  if (head.text.startsWith('>')) {
    if (drawing.operator !== undefined)
      reject(head, 'there is a second operator', 'A diagram has one: draw the composition as one box.');
    drawing.operator = head.text.slice(1).trim();
    return;
  }
  const [, letter, body] = /^([A-Za-z0-9])\s*=\s*(\S+)\s*$/.exec(head.text) ?? [];
  const [, longName] = /^(\w{2,})\s*:?=/.exec(head.text) ?? [];
  if (longName !== undefined) rejectLongName(head, longName);
  const below = drawing.operator !== undefined;
  const line = readLine(block, letter, body ?? head.text, letter ?? (below ? 'result' : 'source'), drawing.inners);
  rejectDrawnNames(head, line.marbles, definitions);
  for (const { mark } of line.events) drawing.drawn.add(mark);
  if (letter === undefined) {
    const others = below ? drawing.outputs : drawing.inputs;
    if (below && others.length > 0) reject(head, 'there is a second stream below the box', 'A diagram has one result.');
    if (below && line.hot) reject(head, 'whether the result is hot is up to the operator', 'Remove "kind = hot".');
    if (below && line.subs && line.subs.length !== 1)
      reject(head, 'the result is subscribed once', 'Write one subscription in "subs".');
    if (others.some(({ title }) => title === line.title))
      reject(head, `there is a second stream named "${line.title}"`, 'Name each one: "title = ..." below it.');
    others.push(line);
  } else {
    if (drawing.inners[letter]) reject(head, `"${letter}" is already a stream`, 'Use another letter.');
    if (drawing.drawn.has(letter))
      reject(
        head,
        `"${letter}" is drawn above its definition, where Swirly reads it as a marble`,
        'Define inner streams first.',
      );
    drawing.inners[letter] = line;
  }
}

/**
 * Parses a diagram: a text that Swirly draws and `runDiagram` runs.
 *
 * A marble is one character: its value is `%: a = <JSON>`, or the character itself. `a := label` below a line is the
 * text that the picture shows in the marble. Definitions with longer names are values for references (`"$name"`,
 * `"$name.key"`) and for the test (`values`).
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
 * @returns The parsed diagram.
 * @throws ConfigurationError `diagram`, with the line and how to fix it: for everything that Swirly and the scheduler
 * read differently, for names of more than one character that are used as marbles, and for definitions that are not
 * drawn.
 */
export function parseDiagram(text: string): Diagram {
  const lines = text.split('\n').map((line, index) => ({ number: index + 1, text: line.replace(/\r$/, '') }));
  const isDefinition = (line: SourceLine) => /^\s*%:/.test(line.text);
  const definitions = readDefinitions(lines.filter(isDefinition));
  const { values, referenced } = resolveValues(definitions);
  const drawing: Drawing = { inputs: [], outputs: [], inners: {}, drawn: new Set() };
  for (const block of blocksOf(lines.filter((line) => !isComment(line)))) readBlock(block, drawing, definitions);

  const {
    operator,
    inputs,
    inners,
    drawn,
    outputs: [output],
  } = drawing;
  const end = lines.at(-1) ?? { number: 1, text: '' };
  if (!operator)
    return reject(end, 'there is no operator', 'Write "> operator" between the input streams and the output stream.');
  if (!output) return reject(end, 'there is no stream below the box', 'Draw the output of the operator.');
  for (const letter of Object.keys(inners))
    if (!drawn.has(letter)) reject(end, `the inner stream "${letter}" is not drawn`, 'Remove it.');
  for (const [name, { line }] of definitions) {
    if (inners[name]) reject(line, `"${name}" is also an inner stream`, 'Use another letter.');
    if (name.length === 1 && !drawn.has(name) && !referenced.has(name))
      reject(line, `"${name}" is not drawn`, 'Remove the definition.');
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
