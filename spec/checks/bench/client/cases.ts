import { closing, deltasOf, documentOf, parallelCalls, fragmentsOf, recordsOf, spoken } from '../wire.js';
import { recordsSchema } from './job.js';
import type { Job, Library } from './job.js';

/** A case: the scenario of one run, and its expected output. */
export interface Case {
  /** The scenario of the server. */
  readonly scenario: string;
  /** Whether the model calls the tool. Default: false. */
  readonly tools?: boolean;
  /** Whether the run has a typed output. Default: false. */
  readonly output?: boolean;
  /** The number of concurrent runs. Default: 1. */
  readonly concurrent?: number;
  /** The number of runs, one after the other, in a measurement. Default: 1. */
  readonly repeat?: number;
  /** The number of messages before the question. Default: 0. */
  readonly history?: number;
  /** The number of messages with calls and results before the question: a turn is measured, not the run. Default: 0. */
  readonly past?: number;
  /** The text of one run. */
  readonly text: string;
  /** The arguments of the tool in one run, in any order. */
  readonly saved: readonly string[];
  /** The JSON text of the typed output, or of the last partial object. */
  readonly partial?: string;
  /** The deltas of a case without a server, and whether each is a read of its own. */
  readonly deltas?: readonly string[];
  readonly apart?: boolean;
}

const last = closing.join('');
const roundsOf = (count: number, first = 0) => Array.from({ length: count }, (_, round) => `round ${first + round}`);
/** The turns of a run after a long conversation. */
const furtherTurns = 20;
const inProcess = (size: number) => {
  const partial = recordsOf(size);
  return { partial, deltas: fragmentsOf(partial) };
};

/** The kinds of cases. Default: the scenario is the name of the case, without tools and without text. */
const kinds: Readonly<Record<string, (size: number) => Partial<Case>>> = {
  /** So many deltas of text. A short response is read several times, so that a measurement includes its garbage. */
  text: (size) => ({ text: deltasOf(size).join(''), repeat: Math.max(1, Math.floor(500 / size)) }),
  /** So many deltas of text, each in a read of its own. */
  writes: (size) => ({ text: deltasOf(size).join('') }),
  /** So many bytes of arguments in parallel calls. */
  arguments: (size) => ({
    tools: true,
    text: last,
    saved: Array.from({ length: parallelCalls }, (_, call) => documentOf(call, Math.floor(size / parallelCalls))),
  }),
  /** So many turns with one small call, and no text before the last. */
  rounds: (size) => ({ tools: true, text: last, saved: roundsOf(size) }),
  /** So many turns with a text of 20 deltas and one small call. */
  talks: (size) => ({ tools: true, text: spoken.join('').repeat(size) + last, saved: roundsOf(size) }),
  /** So many turns after a conversation of 300 messages. */
  past: (size) => ({ scenario: `rounds-${size}`, tools: true, history: 300, text: last, saved: roundsOf(size) }),
  /** So many concurrent runs of 500 deltas. */
  concurrent: (size) => ({ scenario: 'text-500', concurrent: size, text: deltasOf(500).join('') }),
  /** A turn after a conversation of so many messages, of which every fourth is a result. */
  further: (size) => ({
    scenario: `rounds-${size / 4 + furtherTurns}`,
    tools: true,
    past: size,
    text: last,
    saved: roundsOf(furtherTurns, size / 4),
  }),
  /** A run after so many messages. */
  history: (size) => ({ history: size, text: last }),
  /** A typed output of so many records. */
  typed: (size) => ({ scenario: `records-${size}`, output: true, partial: recordsOf(size) }),
  /** Partial objects of so many records: of a typed output, and of a call's arguments. */
  records: (size) => ({ partial: recordsOf(size) }),
  recordcall: (size) => ({ partial: recordsOf(size) }),
  /** Partial objects in process: all deltas in one read, and each delta in a read of its own. */
  oneread: inProcess,
  reads: (size) => ({ ...inProcess(size), apart: true }),
};

/** A case by its name, a kind and a size: `text-20000`. */
export function caseOf(name: string): Case {
  const [kind = '', size] = name.split('-');
  const known = kinds[kind];
  if (!known) throw new Error(`There is no case "${name}".`);
  return { scenario: name, text: '', saved: [], ...known(Number(size)) };
}

/** The output of one run, verified after the time is taken. */
interface Outcome {
  text: string;
  readonly saved: string[];
  /** The CPU time, in microseconds, at each run of the tool. */
  readonly times: number[];
  partial?: unknown;
}

const filler = 'The river runs to the sea, and the sea is not full. '.repeat(4);

function oneRun(
  library: Library,
  { scenario, tools, output, history = 0, past, deltas, apart }: Case,
  server: string,
): { readonly outcome: Outcome; readonly done: Promise<void> } {
  const outcome: Outcome = { text: '', saved: [], times: [] };
  const messages: Job['messages'] = [
    ...Array.from({ length: history }, (_, at) => ({
      role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
      text: filler,
    })),
    { role: 'user', text: 'Go on.' },
  ];
  const save = (content: string) => {
    outcome.saved.push(content);
    if (past !== undefined) outcome.times.push(cpuTime());
    return `saved ${content.length} characters`;
  };
  const onText = (text: string) => (outcome.text += text);
  const onPartial = (partial: unknown) => (outcome.partial = partial);
  const job: Job = {
    baseUrl: `${server}/${scenario}`,
    messages,
    past,
    save: tools ? save : undefined,
    output: output ? recordsSchema : undefined,
    onText,
    onOutput: onPartial,
    onPartial,
    deltas,
    apart,
  };
  return { outcome, done: library(job) };
}

const cpuTime = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** The CPU time of a turn in milliseconds, from the first run of the tool to the last. */
function turnTime(times: readonly number[]): number {
  const [first = NaN] = times;
  return ((times.at(-1) ?? NaN) - first) / 1000 / (times.length - 1);
}

/** Runs a case, and returns the CPU time of a run in milliseconds. Throws if the output is wrong. */
export async function measure(library: Library, which: Case, server: string): Promise<number> {
  const { concurrent = 1, repeat = 1, past } = which;
  const outcomes: Outcome[] = [];
  const before = cpuTime();
  for (let time = 0; time < repeat; time++) {
    const runs = Array.from({ length: concurrent }, () => oneRun(library, which, server));
    await Promise.all(runs.map(({ done }) => done));
    outcomes.push(...runs.map(({ outcome }) => outcome));
  }
  const spent = cpuTime() - before;
  for (const outcome of outcomes) verify(outcome, which);
  return past === undefined ? spent / 1000 / repeat : turnTime(outcomes.flatMap(({ times }) => times));
}

function verify({ text, saved, partial }: Outcome, which: Case): void {
  if (which.partial !== undefined && JSON.stringify(partial) !== which.partial)
    throw new Error('the last partial object is incomplete');
  if (text !== which.text) throw new Error(`wrong text: ${text.length} characters instead of ${which.text.length}`);
  if (saved.length !== which.saved.length)
    throw new Error(`the tool ran ${saved.length} times instead of ${which.saved.length}`);
  const expected = [...which.saved].sort();
  if ([...saved].sort().some((content, at) => content !== expected[at])) throw new Error('wrong arguments');
}
