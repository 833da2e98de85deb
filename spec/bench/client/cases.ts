import { closing, deltasOf, documentOf, parallelCalls, fragmentsOf, recordsOf } from '../wire.js';
import type { Job, Library } from './job.js';

/** A case: the scenario of one run, and its expected output. */
export interface Case {
  /** The scenario of the server. */
  readonly scenario: string;
  /** Whether the model calls the tool. */
  readonly tools: boolean;
  /** The number of concurrent runs. Default: 1. */
  readonly concurrent?: number;
  /** The number of messages before the question. Default: 0. */
  readonly history?: number;
  /** The text of one run. */
  readonly text: string;
  /** The arguments of the tool in one run, in any order. */
  readonly saved: readonly string[];
  /** The JSON text of the last partial object. */
  readonly partial?: string;
  /** The deltas of a case without a server, and whether each is a read of its own. */
  readonly deltas?: readonly string[];
  readonly apart?: boolean;
}

/**
 * A case by its name: `text-20000`, `arguments-400000`, `rounds-50`, `concurrent-200`, `history-1000`; partial objects
 * of so many records: `records-2000` as text, `recordcall-2000` as a call's arguments, `oneread-2000` and `reads-2000`
 * in process.
 */
export function caseOf(name: string): Case {
  const [kind = '', count = '0'] = name.split('-');
  const size = Number(count);
  const last = closing.join('');
  switch (kind) {
    case 'text':
      return { scenario: name, tools: false, text: deltasOf(size).join(''), saved: [] };
    case 'arguments':
      return {
        scenario: name,
        tools: true,
        text: last,
        saved: Array.from({ length: parallelCalls }, (_, call) => documentOf(call, Math.floor(size / parallelCalls))),
      };
    case 'rounds':
      return {
        scenario: name,
        tools: true,
        text: last,
        saved: Array.from({ length: size }, (_, round) => `round ${round}`),
      };
    case 'concurrent':
      return { scenario: 'text-500', tools: false, concurrent: size, text: deltasOf(500).join(''), saved: [] };
    case 'history':
      return { scenario: name, tools: false, history: size, text: last, saved: [] };
    case 'records':
    case 'recordcall':
      return { scenario: name, tools: false, text: '', saved: [], partial: recordsOf(size) };
    case 'oneread':
    case 'reads': {
      const partial = recordsOf(size);
      return {
        scenario: name,
        tools: false,
        text: '',
        saved: [],
        partial,
        deltas: fragmentsOf(partial),
        apart: kind === 'reads',
      };
    }
    default:
      throw new Error(`There is no case "${name}".`);
  }
}

/** The output of one run, verified after the time is taken. */
interface Outcome {
  text: string;
  readonly saved: string[];
  partial?: unknown;
}

const filler = 'The river runs to the sea, and the sea is not full. '.repeat(4);

function oneRun(
  library: Library,
  { scenario, tools, history = 0, deltas, apart }: Case,
  server: string,
): { readonly outcome: Outcome; readonly done: Promise<void> } {
  const outcome: Outcome = { text: '', saved: [] };
  const messages: Job['messages'] = [
    ...Array.from({ length: history }, (_, at) => ({
      role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
      text: filler,
    })),
    { role: 'user', text: 'Go on.' },
  ];
  const save = (content: string) => {
    outcome.saved.push(content);
    return `saved ${content.length} characters`;
  };
  const onText = (text: string) => (outcome.text += text);
  const onPartial = (partial: unknown) => (outcome.partial = partial);
  const job: Job = {
    baseUrl: `${server}/${scenario}`,
    messages,
    save: tools ? save : undefined,
    onText,
    onPartial,
    deltas,
    apart,
  };
  return { outcome, done: library(job) };
}

/** Runs a case once, and returns its CPU time in milliseconds. Throws if the output is wrong. */
export async function measure(library: Library, which: Case, server: string): Promise<number> {
  const before = process.cpuUsage();
  const runs = Array.from({ length: which.concurrent ?? 1 }, () => oneRun(library, which, server));
  await Promise.all(runs.map(({ done }) => done));
  const { user, system } = process.cpuUsage(before);
  for (const { outcome } of runs) verify(outcome, which);
  return (user + system) / 1000;
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
