import type { Chunk, JsonValue, OfType, RunEvent, RunResult } from 'rivulet';
import { oneLine, showHidden, stripControlCharacters, toInlineText } from './text.js';
import type { ViewOptions } from './view.js';

/** The begin and the end of a run as seen by its subscriber. A run that ends without a result was stopped. */
export interface Boundary {
  readonly type: 'begin' | 'end' | 'failed';
}

/** What is shown of a run so far: an immutable value, from which each event makes the next. */
export interface Transcript {
  /** The text that the last event added. */
  readonly text: string;
  /** What is going on; empty while text streams. */
  readonly status: string;
  /** The kind of text in the current line; undefined at the beginning of a line. */
  readonly line: 'text' | 'thinking' | undefined;
  /** The tool calls that have no result yet, by id. */
  readonly pending: ReadonlyMap<string, PendingCall>;
  readonly isFinished: boolean;
  /** The model that answers, if the run has several. */
  readonly answeredBy?: string;
}

interface PendingCall {
  /** The tool and its first argument. */
  readonly label: string;
  /** The label, and the latest progress. */
  readonly status: string;
  /** Whether the user is asked about the call. */
  readonly isAsked?: boolean;
}

export const emptyTranscript: Transcript = {
  text: '',
  status: '',
  line: undefined,
  pending: new Map(),
  isFinished: false,
};

const waitingForModel = 'waiting for the model';

/** The transcript after an event. */
export function addEvent(before: Transcript, event: RunEvent | Boundary, options: ViewOptions): Transcript {
  const { dim, yellow } = options.colors;
  switch (event.type) {
    case 'begin':
      return { ...before, status: waitingForModel };
    case 'thinking':
      return addText(before, 'thinking', event.text, dim);
    case 'text':
      return addText(before, 'text', event.text);
    case 'toolCall':
      return addCall(before, event, options);
    case 'toolWaiting':
      return waitForUser(before, event);
    case 'toolStart':
      return startCall(before, event);
    case 'toolProgress':
      return addProgress(before, event, options);
    case 'toolResult':
      return addResult(before, event, options);
    case 'message':
      return { ...before, text: '', status: event.message.role === 'user' ? waitingForModel : before.status };
    case 'retract':
      return { ...addLines(before, dim('(the answer starts over)')), pending: new Map(), status: waitingForModel };
    case 'retry':
      return { ...addLines(before, yellow(retryLine(event, options))), status: waitingForModel };
    case 'metadata':
      return addModel(before, event.metadata['answeredBy'], options);
    case 'result':
      return { ...addLines(before, ...summaryLines(event.result, options)), isFinished: true };
    case 'end':
      return before.isFinished ? addLines(before) : addLines(before, yellow('stopped'));
    case 'failed':
      return addLines(before);
    default:
      return { ...before, text: '' };
  }
}

/** Text continues its line; the other kind of text begins a new line. */
function addText(
  before: Transcript,
  kind: 'text' | 'thinking',
  raw: string,
  paint = (plain: string) => plain,
): Transcript {
  const text = stripControlCharacters(raw);
  if (text === '') return { ...before, text };
  const lineBreak = before.line ? '\n' : '';
  const prefix = kind === 'thinking' ? paint('thinking: ') : '';
  const lead = before.line === kind ? '' : lineBreak + prefix;
  const isLineComplete = kind === 'text' && text.endsWith('\n');
  return { ...before, text: lead + paint(text), status: '', line: isLineComplete ? undefined : kind };
}

/** Adds complete lines, below the current one. */
function addLines(before: Transcript, ...lines: readonly string[]): Transcript {
  const text = (before.line ? '\n' : '') + lines.map((line) => `${line}\n`).join('');
  return { ...before, text, status: '', line: undefined };
}

function addCall(
  before: Transcript,
  { id, name, arguments: args }: OfType<RunEvent, 'toolCall'>,
  { colors, columns }: ViewOptions,
): Transcript {
  const [subject] = Object.values(args);
  const label = showHidden(subject === undefined ? name : `${name} ${toInlineText(subject)}`);
  const pending = new Map(before.pending).set(id, { label, status: `${label}: waiting` });
  const line = oneLine(showHidden(`${name} ${JSON.stringify(args)}`), columns() - 2);
  const plainName = oneLine(showHidden(name), columns() - 2);
  const painted = line.replace(plainName, () => colors.bold(plainName));
  return withStatus({ ...addLines(before, `${colors.cyan('→')} ${painted}`), pending });
}

/** The question itself is shown by whoever asks it: see `askUser`. */
function waitForUser(before: Transcript, { id, name }: OfType<RunEvent, 'toolWaiting'>): Transcript {
  const label = before.pending.get(id)?.label ?? name;
  const pending = new Map(before.pending).set(id, { label, status: label, isAsked: true });
  return withStatus({ ...before, text: '', pending });
}

function startCall(before: Transcript, { id, name }: OfType<RunEvent, 'toolStart'>): Transcript {
  const label = before.pending.get(id)?.label ?? name;
  return withStatus({ ...before, text: '', pending: new Map(before.pending).set(id, { label, status: label }) });
}

/** Where the status line cannot be rewritten, each progress value is a line. */
function addProgress(
  before: Transcript,
  { id, name, value }: OfType<RunEvent, 'toolProgress'>,
  { live, columns }: ViewOptions,
): Transcript {
  const label = before.pending.get(id)?.label ?? name;
  const status = `${label}: ${toInlineText(value)}`;
  const after = live ? { ...before, text: '' } : addLines(before, `  ${oneLine(status, columns() - 2)}`);
  return withStatus({ ...after, pending: new Map(before.pending).set(id, { label, status }) });
}

function addResult(
  before: Transcript,
  event: OfType<RunEvent, 'toolResult'>,
  { colors, columns }: ViewOptions,
): Transcript {
  const pending = new Map(before.pending);
  pending.delete(event.id);
  const label = before.pending.get(event.id)?.label ?? event.name;
  const room = columns() - 2;
  const line =
    event.error === undefined
      ? `${colors.green('✓')} ${oneLine(`${label}: ${toInlineText(event.result)}`, room)}`
      : colors.red(`✗ ${oneLine(`${label}: ${event.error}`, room)}`);
  return withStatus({ ...addLines(before, line), pending });
}

/** There is no status line while the user is asked: it would overwrite the answer. */
function withStatus(transcript: Transcript): Transcript {
  const calls = [...transcript.pending.values()];
  const status = calls.some(({ isAsked }) => isAsked) ? '' : calls.map((call) => call.status).join(' · ');
  return { ...transcript, status };
}

const retryLine = ({ delay, error }: OfType<Chunk, 'retry'>, { columns }: ViewOptions): string =>
  oneLine(`retrying in ${Math.ceil(delay / 1000)} s: ${toInlineText(error['message'])}`, columns());

/** Says which model answers, when that changes. */
function addModel(before: Transcript, model: JsonValue | undefined, { colors, columns }: ViewOptions): Transcript {
  if (model === undefined) return { ...before, text: '' };
  const answeredBy = Object.values(model as Record<string, JsonValue>)
    .map(toInlineText)
    .join(' ');
  if (answeredBy === before.answeredBy) return { ...before, text: '' };
  return { ...addLines(before, colors.dim(oneLine(`answered by ${answeredBy}`, columns()))), answeredBy };
}

/** Why the run ended, unless it simply stopped, and its usage. */
function summaryLines({ finishReason, usage, turns }: RunResult, { colors }: ViewOptions): readonly string[] {
  const counts = [
    `${turns} ${turns === 1 ? 'turn' : 'turns'}`,
    formatCount('tokens in', usage.input, usage.cachedInput, 'cached'),
    formatCount('tokens out', usage.output, usage.reasoning, 'thinking'),
  ];
  const summary = colors.dim(`[${counts.join(', ')}]`);
  if (finishReason === 'stop') return [summary];
  return [colors.yellow(finishReason === 'stopped' ? 'stopped' : `ended early: ${finishReason}`), summary];
}

function formatCount(unit: string, count: number | undefined, part: number | undefined, partName: string): string {
  const format = (value: number) => value.toLocaleString('en-US');
  return `${count === undefined ? 'unknown' : format(count)} ${unit}${part ? ` (${format(part)} ${partName})` : ''}`;
}
