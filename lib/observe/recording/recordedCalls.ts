import type { Decision, WaitingCall } from '../../core/approval.js';
import type { RunEvent, ToolResultEvent } from '../../core/event.js';
import { asKnownEvent, isToolResult, type KnownEvent } from '../../core/eventGuards.js';
import type { JsonObject } from '../../core/json/json.js';
import { groupByKey } from '../../core/lists.js';
import { toolCallsOf, toolErrorTexts } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { ValueEntry } from './entries.js';
import type { CallOutput } from './playCall.js';
import type { RecordedRun, RecordedStep } from './readRecording.js';

/** A value that a run emitted, and when. */
export interface TimedEvent {
  /** Milliseconds since the start of the run. */
  readonly at: number;
  readonly event: RunEvent;
}

export function eventsOf(run: RecordedRun): readonly TimedEvent[] {
  return run.steps.flatMap(({ at, entry }) =>
    isEvent(entry) ? [{ at: at - run.start.at, event: entry.value as RunEvent }] : [],
  );
}

export const isEvent = (entry: RecordedStep['entry']): entry is ValueEntry =>
  entry.type === 'event' || entry.type === 'both';

interface EventStep<E extends KnownEvent = KnownEvent> {
  readonly step: RecordedStep;
  readonly event: E;
}

type EventOf<T extends KnownEvent['type']> = Extract<KnownEvent, { readonly type: T }>;

function stepsOf<T extends KnownEvent['type']>(run: RecordedRun, type: T): readonly EventStep<EventOf<T>>[] {
  return run.steps.flatMap((step) =>
    isEvent(step.entry) && step.entry.value.type === type
      ? [{ step, event: asKnownEvent(step.entry.value) as EventOf<T> }]
      : [],
  );
}

/** An attempt that was retracted may have executed a call with the same id. */
export interface RecordedCall {
  readonly id: string;
  readonly start: RecordedStep;
  /** Without a result, the call stays open until the run ends it. */
  readonly outputs: readonly { readonly step: RecordedStep; readonly output: CallOutput }[];
  readonly isOpen: boolean;
}

interface OpenCall extends Mutable<RecordedCall> {
  readonly outputs: RecordedCall['outputs'][number][];
}

export function callsOf(run: RecordedRun): readonly RecordedCall[] {
  const calls: OpenCall[] = [];
  const open = new Map<string, OpenCall>();
  const begin = (id: string, start: RecordedStep | undefined) => {
    if (!start) return;
    const call: OpenCall = { id, start, outputs: [], isOpen: true };
    calls.push(call);
    open.set(id, call);
  };
  let previous: KnownEvent['type'] | undefined;
  // A call whose inner run is resumed has no start: it begins with the run, or when another one has ended.
  let [freed] = run.steps;
  const { toolConcurrency = 1 } = run.agent ?? {};
  const resumed = Object.keys(run.start.checkpoint?.open?.nested ?? {});
  for (const id of resumed.splice(0, toolConcurrency === 'unlimited' ? Infinity : toolConcurrency)) begin(id, freed);
  const later = new Set(resumed);
  for (const step of run.steps) {
    if (!isEvent(step.entry)) continue;
    const event = asKnownEvent(step.entry.value);
    if (event.type === 'toolStart') begin(event.id, step);
    if ('id' in event && later.delete(event.id)) begin(event.id, freed);
    if (event.type === 'toolResult') freed = step;
    const call = 'id' in event ? open.get(event.id) : undefined;
    const output = call && outputOf(event);
    if (output) call.outputs.push({ step, output });
    if (call && event.type === 'nested') {
      open.delete(event.id); // the last one has changed last
      open.set(event.id, call);
    }
    if (event.type === 'checkpoint' && !changesRound.has(previous))
      [...open.values()].at(-1)?.outputs.push({ step, output: { type: 'checkpoint' } });
    previous = event.type;
    if (event.type !== 'toolResult' || !call) continue;
    open.delete(event.id);
    call.isOpen = output === undefined;
  }
  for (const id of later) begin(id, freed);
  suspend(run, open);
  return calls;
}

/** After each of these, a run has a checkpoint. Any other one is of a run inside a call. */
const changesRound: ReadonlySet<unknown> = new Set(['message', 'toolWaiting', 'toolResult']);

function outputOf(event: KnownEvent): CallOutput | undefined {
  switch (event.type) {
    case 'toolProgress':
    case 'toolUsage':
    case 'nested':
    case 'toolResult': {
      const { id: _, name: _name, ...output } = event;
      // A stop, a cancellation and a deadline happen again, and end the call.
      const isRepeated = output.type === 'toolResult' && (output.code === 'cancelled' || output.code === 'timeout');
      return isRepeated ? undefined : output;
    }
    default:
      return undefined;
  }
}

/** The call waits after the last event of its agent, which is its checkpoint if the run has some. */
function suspend(run: RecordedRun, open: ReadonlyMap<string, OpenCall>): void {
  const waiting = groupByKey(waitingAtEnd(run), ({ path }) => path?.[0]);
  for (const call of open.values()) {
    const inner = waiting.get(call.id)?.map(asInnerCall);
    const { step = call.start, output } = call.outputs.at(-1) ?? {};
    if (inner && output?.type === 'checkpoint') call.outputs.pop();
    if (inner) call.outputs.push({ step, output: { type: 'toolSuspended', waiting: inner } });
  }
}

function waitingAtEnd(run: RecordedRun): readonly WaitingCall[] {
  const result = stepsOf(run, 'result').at(-1)?.event.result;
  return result?.waiting ?? [];
}

function asInnerCall({ path = [], ...call }: WaitingCall): WaitingCall {
  const [, id = '', ...deeper] = path;
  return deeper.length > 0 ? { ...call, id: [id, ...deeper].join('/'), path: [id, ...deeper] } : { ...call, id };
}

/** These reasons end a turn without executing its calls. */
const vetoes: readonly unknown[] = ['length', 'contentFilter', 'error', 'stopped'];

/** Calls that were cancelled one by one: not by the stop of the run, or by the end of the answer. */
export function cancelledCalls(run: RecordedRun): readonly EventStep<ToolResultEvent>[] {
  const cancelled: EventStep<ToolResultEvent>[] = [];
  let isVetoed = false;
  for (const step of run.steps) {
    const { entry } = step;
    if (entry.type === 'stop') break;
    if (entry.type === 'request') isVetoed = false;
    if (entry.type === 'chunk' || entry.type === 'both') {
      const chunk = asKnownEvent(entry.value);
      if (chunk.type === 'finish') isVetoed = vetoes.includes(chunk.reason);
    }
    if (!isEvent(entry) || isVetoed) continue;
    const event = asKnownEvent(entry.value);
    if (isToolResult(event) && event.code === 'cancelled') cancelled.push({ step, event });
  }
  return cancelled;
}

export interface WaitingStep {
  readonly call: WaitingCall;
  readonly step: RecordedStep;
  readonly asked: RecordedStep;
  readonly decided?: { readonly step: RecordedStep; readonly decision: Decision };
}

export function waitingCalls(run: RecordedRun): readonly WaitingStep[] {
  const waiting: Mutable<WaitingStep>[] = [];
  const undecided = new Map<string, Mutable<WaitingStep>>();
  let asked = run.steps[0];
  for (const step of run.steps) {
    if (step.entry.type === 'requestEnd') asked = step; // the calls begin when the request has ended
    if (!isEvent(step.entry)) continue;
    const event = asKnownEvent(step.entry.value);
    switch (event.type) {
      case 'toolCall':
        if (run.agent?.eagerTools) asked = step;
        break;
      case 'toolWaiting': {
        const { type: _, ...call } = event;
        const entry: Mutable<WaitingStep> = { call, step, asked: asked ?? step };
        waiting.push(entry);
        undecided.set(call.id, entry);
        break;
      }
      case 'toolStart':
      case 'toolResult': {
        const entry = undecided.get(event.id);
        undecided.delete(event.id);
        const decision = entry && decisionOf(event, entry.call.arguments);
        if (decision) entry.decided = { step, decision };
        break;
      }
      default:
    }
  }
  return waiting;
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** The start of the tool, or a denial, shows the decision. A cancellation is none. */
function decisionOf(answer: KnownEvent, sent: JsonObject): Decision | undefined {
  if (answer.type === 'toolResult')
    return answer.code === 'denied' ? { approve: false, ...reasonOf(answer.error) } : undefined;
  if (answer.type !== 'toolStart') return undefined;
  const isChanged = JSON.stringify(answer.arguments) !== JSON.stringify(sent);
  return isChanged ? { approve: true, arguments: answer.arguments } : { approve: true };
}

function reasonOf(error = ''): { readonly reason?: string } {
  const prefix = `${toolErrorTexts.denied} Reason: `;
  return error.startsWith(prefix) ? { reason: error.slice(prefix.length) } : {};
}

/** Without `approve`, a run ends with the calls that wait. */
export function hasApprovals(run: RecordedRun): boolean {
  const waiting = waitingCalls(run);
  return waiting.some(({ decided }) => decided) || (waiting.length > 0 && waitingAtEnd(run).length === 0);
}

export interface RecordedTool {
  readonly definition: ToolDefinition;
  /** The tool had no `execute`, so that its call was answered from outside of the run. */
  readonly isExternal: boolean;
  readonly hasWaited: boolean;
  readonly rejected: ReadonlyMap<string, string>;
}

export function toolsOf(run: RecordedRun): readonly RecordedTool[] {
  const lists = new Set(run.requests.map(({ tools }) => tools)); // most requests have that of the previous one
  const definitions = new Map([...lists].flat().map((tool) => [tool.name, tool]));
  const { open } = run.start.checkpoint ?? {};
  const started = new Set(stepsOf(run, 'toolStart').map(({ event }) => event.name));
  const waiting = [...waitingCalls(run).map(({ call }) => call), ...(open?.waiting ?? []).filter(({ path }) => !path)];
  const answered = new Set(Object.keys(run.start.answers?.results ?? {}));
  const waitedOn = new Set(waitingAtEnd(run).map(({ id }) => id));
  const resumed = open?.messages.flatMap(toolCallsOf).filter(({ id }) => Object.hasOwn(open.nested ?? {}, id)) ?? [];
  const names = [...started, ...[...waiting, ...resumed].map(({ name }) => name)];
  for (const name of names)
    if (!definitions.has(name)) definitions.set(name, { name, description: '', parameters: { type: 'object' } });
  const rejected = rejectedArguments(run);
  const waitingByName = groupByKey(waiting, (call) => call.name);
  const asksOthers = hasApprovals(run);
  return [...definitions.values()].map((definition): RecordedTool => {
    const { name } = definition;
    const own = waitingByName.get(name) ?? [];
    // Details are of an approval. Without them, a call that nobody answered looks the same with or without `execute`:
    // it has none if the run asks somebody about other calls.
    const isOpen = asksOthers && own.every(({ id, details }) => !details && waitedOn.has(id));
    const isAnswered = own.some(({ id }) => answered.has(id));
    return {
      definition,
      isExternal: isAnswered || (own.length > 0 && !started.has(name) && isOpen),
      hasWaited: own.length > 0,
      rejected: rejected.get(name) ?? new Map(),
    };
  });
}

function rejectedArguments(run: RecordedRun): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const prefix = 'Invalid arguments: ';
  const sent = new Map(stepsOf(run, 'toolCall').map(({ event }) => [event.id, event.arguments]));
  const rejected = new Map<string, Map<string, string>>();
  for (const { event } of stepsOf(run, 'toolResult')) {
    if (event.code !== 'invalid_arguments' || !event.error.startsWith(prefix)) continue;
    const ofTool = rejected.get(event.name) ?? new Map<string, string>();
    rejected.set(event.name, ofTool.set(JSON.stringify(sent.get(event.id)), event.error.slice(prefix.length)));
  }
  return rejected;
}

export function generatedIdsOf(run: RecordedRun): readonly string[] {
  const sent = new Set(
    run.steps.flatMap(({ entry }) =>
      (entry.type === 'chunk' || entry.type === 'both') && entry.value.type === 'toolCallFragment'
        ? [(entry.value as { readonly id?: string }).id]
        : [],
    ),
  );
  return stepsOf(run, 'toolCall')
    .map(({ event }) => event.id)
    .filter((id) => !sent.has(id));
}

/** For a run that was left in the handler of its last event. */
export function eventsUntilLeft(run: RecordedRun): number | undefined {
  const events = eventsOf(run);
  const last = events.at(-1);
  const { end, start } = run;
  if (end?.outcome !== 'unsubscribed' || !last) return undefined;
  return end.at - start.at - last.at <= 1 ? events.length : undefined; // the clock may have advanced by one
}
