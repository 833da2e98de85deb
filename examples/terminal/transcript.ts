import type { RunEvent, RunResult, ToolCallEvent, ToolProgressEvent, ToolResultEvent } from 'rivulet';
import { harmless, inline, oneLine } from './text.js';
import type { ViewOptions } from './view.js';

/** Where a run begins and ends for whoever watches it. One that ends without a result was stopped. */
export interface Boundary {
  readonly type: 'begin' | 'end' | 'failed';
}

/** How far a run has been told: a value, from which each event makes the next. */
export interface Transcript {
  /** What the last event added. */
  readonly text: string;
  /** What is going on; empty while text streams. */
  readonly status: string;
  /** What stands in the line that is being written; undefined at the beginning of a line. */
  readonly line: 'text' | 'thinking' | undefined;
  /** The tool calls under way, by id. */
  readonly running: ReadonlyMap<string, Running>;
  readonly finished: boolean;
}

interface Running {
  /** The tool and its first argument. */
  readonly label: string;
  /** The label, and how far it is. */
  readonly status: string;
}

export const nothing: Transcript = { text: '', status: '', line: undefined, running: new Map(), finished: false };

const waiting = 'waiting for the model';

/** What an event adds. */
export function told(before: Transcript, event: RunEvent | Boundary, options: ViewOptions): Transcript {
  const { dim, yellow } = options.colors;
  switch (event.type) {
    case 'begin':
      return { ...before, status: waiting };
    case 'thinking':
      return prose(before, 'thinking', event.text, dim);
    case 'text':
      return prose(before, 'text', event.text);
    case 'toolCall':
      return called(before, event, options);
    case 'toolProgress':
      return progressed(before, event, options);
    case 'toolResult':
      return answered(before, event, options);
    case 'message':
      return { ...before, text: '', status: event.message.role === 'user' ? waiting : before.status };
    case 'retract':
      return { ...withLines(before, dim('(the answer starts over)')), running: new Map(), status: waiting };
    case 'result':
      return { ...withLines(before, ...ending(event.result, options)), finished: true };
    case 'end':
      return before.finished ? withLines(before) : withLines(before, yellow('stopped'));
    case 'failed':
      return withLines(before);
    default:
      return { ...before, text: '' };
  }
}

/** Text goes on in its line; another kind of text begins a new one. */
function prose(
  before: Transcript,
  kind: 'text' | 'thinking',
  raw: string,
  paint = (plain: string) => plain,
): Transcript {
  const text = harmless(raw);
  if (text === '') return { ...before, text };
  const lead = before.line === kind ? '' : (before.line ? '\n' : '') + (kind === 'thinking' ? paint('thinking: ') : '');
  return {
    ...before,
    text: lead + paint(text),
    status: '',
    line: kind === 'text' && text.endsWith('\n') ? undefined : kind,
  };
}

/** Whole lines, below the one that was being written. */
function withLines(before: Transcript, ...lines: readonly string[]): Transcript {
  const text = (before.line ? '\n' : '') + lines.map((line) => `${line}\n`).join('');
  return { ...before, text, status: '', line: undefined };
}

function called(
  before: Transcript,
  { id, name, arguments: args }: ToolCallEvent,
  { colors, columns }: ViewOptions,
): Transcript {
  const [subject] = Object.values(args);
  const label = subject === undefined ? name : `${name} ${inline(subject)}`;
  const running = new Map(before.running).set(id, { label, status: label });
  const line = oneLine(`${name} ${JSON.stringify(args)}`, columns() - 2);
  return busy({ ...withLines(before, `${colors.cyan('→')} ${line.replace(name, colors.bold(name))}`), running });
}

/** Where the status line cannot be rewritten, each step is a line. */
function progressed(
  before: Transcript,
  { id, name, value }: ToolProgressEvent,
  { live, columns }: ViewOptions,
): Transcript {
  const label = before.running.get(id)?.label ?? name;
  const status = `${label}: ${inline(value)}`;
  const after = live ? { ...before, text: '' } : withLines(before, `  ${oneLine(status, columns() - 2)}`);
  return busy({ ...after, running: new Map(before.running).set(id, { label, status }) });
}

function answered(before: Transcript, event: ToolResultEvent, { colors, columns }: ViewOptions): Transcript {
  const running = new Map(before.running);
  running.delete(event.id);
  const label = before.running.get(event.id)?.label ?? event.name;
  const room = columns() - 2;
  const line =
    event.error === undefined
      ? `${colors.green('✓')} ${oneLine(`${label}: ${inline(event.result)}`, room)}`
      : colors.red(`✗ ${oneLine(`${label}: ${event.error}`, room)}`);
  return busy({ ...withLines(before, line), running });
}

const busy = (transcript: Transcript): Transcript => ({
  ...transcript,
  status: [...transcript.running.values()].map(({ status }) => status).join(' · '),
});

/** What a run cost, and why it ended if it is not simply over. */
function ending({ finishReason, usage, turns }: RunResult, { colors }: ViewOptions): readonly string[] {
  const counts = [
    `${turns} ${turns === 1 ? 'turn' : 'turns'}`,
    counted('tokens in', usage.input, usage.cachedInput, 'cached'),
    counted('tokens out', usage.output, usage.reasoning, 'thinking'),
  ];
  const cost = colors.dim(`[${counts.join(', ')}]`);
  return finishReason === 'stop' ? [cost] : [colors.yellow(`ended early: ${finishReason}`), cost];
}

function counted(what: string, count: number | undefined, part: number | undefined, partName: string): string {
  const number = (value: number) => value.toLocaleString('en-US');
  return `${count === undefined ? 'unknown' : number(count)} ${what}${part ? ` (${number(part)} ${partName})` : ''}`;
}
