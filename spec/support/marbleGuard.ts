import { parseDiagram } from '../../lib/testing/marbles/runDiagram.js';
import type { DiagramLine } from '../../lib/testing/marbles/runDiagram.js';
import { firstSentence, swirlyStreams } from '../../marbles/drawing.js';

/** What has to hold together: all of it as text, by name. */
export interface House {
  /** marbles/<name>.txt */
  readonly diagrams: Readonly<Record<string, string>>;
  /** lib/operators/<name>.ts */
  readonly operators: Readonly<Record<string, string>>;
  /** All sources of lib/. */
  readonly sources: readonly string[];
  /** All specs. */
  readonly specs: readonly string[];
}

const framesOf = ({ start, events }: DiagramLine) => ({
  start,
  events: events.map(({ frame, mark }) => ({ frame, kind: mark === '|' ? 'C' : mark === '#' ? 'E' : 'N' })),
});

/** Where Swirly places the events of a text, and where the loader does. */
export function readings(text: string): { readonly swirly: unknown; readonly loader: unknown } {
  const { inputs, output } = parseDiagram(text);
  const swirly = swirlyStreams(text).map(({ frame, messages }) => ({
    start: frame,
    events: messages.map((message) => ({ frame: message.frame, kind: message.notification.kind })),
  }));
  return { swirly, loader: [...inputs, output].map(framesOf) };
}

const exportOf = (name: string) => new RegExp(`^export (function|const) ${name}\\b`, 'm');

function problemsOfDiagram(name: string, text: string, { specs, sources }: House): readonly string[] {
  const operator = name.split('.')[0] ?? name;
  const run = new RegExp(`\\bdiagram(<[^(]*>)?\\(\\s*['"\`]${name.replaceAll('.', '\\.')}['"\`]`);
  const problems = specs.some((spec) => run.test(spec))
    ? []
    : [`${name}.txt is run by no spec: call diagram('${name}', ...) in one.`];
  if (!sources.some((source) => exportOf(operator).test(source)))
    problems.push(`${name}.txt draws "${operator}", which nothing in lib/ exports.`);
  try {
    const diagram = parseDiagram(text);
    if (!new RegExp(`^${operator}\\b`).test(diagram.operator))
      problems.push(`${name}.txt: the box says "${diagram.operator}"; begin it with "${operator}".`);
    if (!firstSentence(diagram.description))
      problems.push(`${name}.txt: begin with a sentence that says what the picture shows: "% It ... ."`);
    const { swirly, loader } = readings(text);
    if (JSON.stringify(swirly) !== JSON.stringify(loader))
      problems.push(`${name}.txt: Swirly draws other frames than are run: ${JSON.stringify({ swirly, loader })}`);
  } catch (error) {
    problems.push(`${name}.txt: ${String(error)}`);
  }
  return problems;
}

/** Whether a file of lib/operators exports an operator called like itself: a function whose signature, up to its end of line, gives one. */
const isOperator = (name: string, source: string) =>
  new RegExp(`^export (function|const) ${name}\\b((?![;{]\\n)[^])*?\\): (MonoType)?OperatorFunction<`, 'm').test(
    source,
  );

/** What is wrong: diagrams nobody runs, operators nobody drew, pictures that say something else than the test. */
export function problemsOf(house: House): readonly string[] {
  const drawn = new Set(Object.keys(house.diagrams).map((name) => name.split('.')[0]));
  const undrawn = Object.entries(house.operators).filter(
    ([name, source]) => isOperator(name, source) && !drawn.has(name),
  );
  return [
    ...undrawn.map(([name]) => `lib/operators/${name}.ts has no diagram: write marbles/${name}.txt.`),
    ...Object.entries(house.diagrams).flatMap(([name, text]) => problemsOfDiagram(name, text, house)),
  ];
}
