import { parseDiagram } from '../../lib/testing/marbles/runDiagram.js';
import type { DiagramLine } from '../../lib/testing/marbles/runDiagram.js';
import { firstSentence, swirlyStreams } from '../../marbles/drawing.js';

/** The files that have to match each other, as texts by name. */
export interface DiagramProject {
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

/** The frames of the events of a text, as Swirly and as the loader read them. */
export function readings(text: string): { readonly swirly: unknown; readonly loader: unknown } {
  const { inputs, output } = parseDiagram(text);
  const swirly = swirlyStreams(text).map(({ frame, messages }) => ({
    start: frame,
    events: messages.map((message) => ({ frame: message.frame, kind: message.notification.kind })),
  }));
  return { swirly, loader: [...inputs, output].map(framesOf) };
}

const exportOf = (name: string) => new RegExp(`^export (function|const) ${name}\\b`, 'm');

function problemsOfDiagram(name: string, text: string, { specs, sources }: DiagramProject): readonly string[] {
  const operator = name.split('.')[0] ?? name;
  const run = new RegExp(`\\bdiagram(<[^(]*>)?\\(\\s*['"\`]${name.replaceAll('.', '\\.')}['"\`]`);
  const problems = specs.some((spec) => run.test(spec))
    ? []
    : [`${name}.txt: no spec runs it. Call diagram('${name}', ...) in one.`];
  if (!sources.some((source) => exportOf(operator).test(source)))
    problems.push(`${name}.txt draws "${operator}", which nothing in lib/ exports.`);
  try {
    const diagram = parseDiagram(text);
    if (!new RegExp(`^${operator}\\b`).test(diagram.operator))
      problems.push(`${name}.txt: the box says "${diagram.operator}"; begin it with "${operator}".`);
    if (!firstSentence(diagram.description))
      problems.push(`${name}.txt: begin with a sentence that describes the picture: "% It ... ."`);
    const { swirly, loader } = readings(text);
    if (JSON.stringify(swirly) !== JSON.stringify(loader))
      problems.push(`${name}.txt: Swirly draws other frames than the test runs: ${JSON.stringify({ swirly, loader })}`);
  } catch (error) {
    problems.push(`${name}.txt: ${String(error)}`);
  }
  return problems;
}

/**
 * Whether a file of lib/operators exports an operator of the same name: a function whose signature, up to the end of
 * its line, returns one.
 */
const isOperator = (name: string, source: string) =>
  new RegExp(`^export (function|const) ${name}\\b((?![;{]\\n)[^])*?\\): (MonoType)?OperatorFunction<`, 'm').test(
    source,
  );

/** Reports diagrams that no spec runs, operators without a diagram, and pictures that differ from the test. */
export function problemsOf(project: DiagramProject): readonly string[] {
  const drawn = new Set(Object.keys(project.diagrams).map((name) => name.split('.')[0]));
  const undrawn = Object.entries(project.operators).filter(
    ([name, source]) => isOperator(name, source) && !drawn.has(name),
  );
  return [
    ...undrawn.map(([name]) => `lib/operators/${name}.ts has no diagram: write marbles/${name}.txt.`),
    ...Object.entries(project.diagrams).flatMap(([name, text]) => problemsOfDiagram(name, text, project)),
  ];
}
