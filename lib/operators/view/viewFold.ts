import { withoutPrefix } from '../../core/chunk.js';
import { RivuletError, errorText } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { HISTORY_LOST_EVENT, isReconnecting, type ReconnectingEvent } from '../../core/connectionEvents.js';
import { asKnownEvent, type KnownEvent } from '../../core/eventGuards.js';
import { asArray, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import { joinedResult, resultsIn, type ToolCallPart, type ToolResultPart } from '../../core/message.js';
import { nestedId } from '../../core/nested.js';
import { addUsage } from '../../core/usage.js';
import {
  answeredCall,
  callsOf,
  changeCall as changeCallOf,
  emptyView,
  endedStatuses,
  toolCallView,
  withoutNotices,
} from './view.js';
import { addServerTools, createAnswer, type Answer } from './answer.js';
import { createStreamedCalls } from './streamedCalls.js';
import type { ToolCallView, View } from './view.js';

export interface ViewFold {
  readonly start: View;
  /** The same view if nothing has changed. */
  add(event: StreamEvent): View;
  fail(thrown: unknown): View;
  /** A call of the run, or of a run inside one of its calls. */
  callOf(id: string): ToolCallView | undefined;
  changeCall(event: CallEvent, change: ChangeCall): View;
}

type ChangeCall = (call: ToolCallView) => ToolCallView;

type CallEvent = Pick<ToolCallPart, 'id' | 'name'> & Partial<Pick<ToolCallPart, 'arguments'>>;

/** Any other event changes nothing. */
type EventHandlers = {
  readonly [T in KnownEvent['type']]?: (event: Extract<KnownEvent, { readonly type: T }>) => void;
} & { readonly reconnecting: (event: ReconnectingEvent) => void; readonly [HISTORY_LOST_EVENT]: () => void };

/** The calls by id, with the call whose inner run has them: a search for each id of a stranger would not be linear. */
type Owners = Map<string, string | undefined>;

function ownersOf({ messages }: View, owners: Owners = new Map(), owner?: string): Owners {
  for (const { parts } of messages)
    for (const part of parts) {
      if (part.type !== 'toolCall') continue;
      if (owner === undefined || part.id.length > owner.length) owners.set(part.id, owner); // no loops
      if (part.nested) ownersOf(part.nested, owners, part.id);
    }
  return owners;
}

/** If the view before waits, the run continues its last answer. `outerCall` is the call that runs an inner run. */
export function createViewFold(before: View, outerCall?: string, owners = ownersOf(before)): ViewFold {
  const answer = createAnswer(before);
  const { view, patch, addDelta, addPart } = answer;
  const inner = new Map<string, ViewFold>();
  const calls = createCalls(answer, owners, inner, outerCall);
  const { callOf, addFragment, addCall, addEarlierResult, changeCall, dropStreamed, dropCalls } = calls;
  const patchCall = (event: CallEvent, fields: Partial<ToolCallView>) =>
    changeCall(event, (call) => ({ ...call, ...fields }));

  function addNested(call: ToolCallView, event: StreamEvent): ToolCallView {
    const nested = innerFold(inner, call, owners).add(event);
    return { ...call, status: nested.status === 'waiting' ? 'waiting' : 'running', nested };
  }

  const handlers: EventHandlers = {
    text: (event) => addDelta('text', withoutPrefix(event)),
    thinking: ({ text }) => addDelta('thinking', text),
    toolCallFragment: addFragment,
    toolCall: addCall,
    toolWaiting: ({ details, question, ...event }) =>
      patchCall(event, { status: 'waiting', ...omitUndefined({ details, question }) }),
    toolStart(event) {
      inner.delete(event.id); // a run inside the call begins, maybe again
      changeCall(event, ({ nested: _, ...call }) => ({
        ...{ ...call, status: 'running' },
        ...omitUndefined({ arguments: event.arguments }),
      }));
    },
    // The ids of inner calls begin with it, and V8 gives all texts of one length above 16,383 characters the same hash.
    nested: (event) => event.id.length <= 12_000 && changeCall(event, (call) => addNested(call, event.event)),
    toolProgress: (event) => patchCall(event, { progress: event.value }),
    toolResult: (event) => changeCall(event, (call) => answeredCall(call, event)),
    file: ({ file }) => addPart(file),
    source: ({ source }) => addPart(source),
    metadata: ({ metadata }) => addServerTools(answer, asArray(objectOrEmpty(metadata)['serverTools'])),
    message({ message }) {
      const isPrompt = message.role !== 'model';
      const results = resultsIn(message);
      for (const result of results) addEarlierResult(withOuterId(result, outerCall));
      if (joinedResult(message)) answer.startTurn(); // in a replay, all turns are one
      if (results.length > 0) return;
      dropStreamed();
      if (isPrompt) answer.addPrompt(message); // the text after it is another answer
    },
    retry: ({ attempt, delay, error }) => patch({ retry: { attempt, delay, error } }),
    retract() {
      dropCalls();
      inner.clear();
      answer.retractTurn();
    },
    turn({ usage, finishReason }) {
      patch({ usage: addUsage(view().usage, usage) });
      if (['toolCalls', 'paused'].includes(finishReason)) patch({ status: 'sending' });
      dropStreamed();
      answer.startTurn();
    },
    result({ result: { finishReason, output } }) {
      dropStreamed();
      const status = finishReason === 'stopped' || finishReason === 'waiting' ? finishReason : 'idle';
      answer.end({ status, finishReason, ...omitUndefined({ output }) }, status === 'stopped' ? status : undefined);
    },
    reconnecting: ({ type: _, ...reconnecting }) => patch({ reconnecting }),
    [HISTORY_LOST_EVENT]: () => patch({ historyLost: true }),
  };

  return {
    start: view(),
    add(event) {
      if (view().reconnecting && !isReconnecting(event)) answer.change(withoutNotices);
      const known = withOuterId(asKnownEvent(event), outerCall);
      if (Object.hasOwn(handlers, known.type)) (handlers[known.type] as (event: KnownEvent) => void)(known);
      return view();
    },
    fail(thrown) {
      const error = thrown instanceof RivuletError ? thrown.toJSON() : { code: 'unknown', message: errorText(thrown) };
      dropStreamed();
      answer.end({ status: 'failed', error }, 'failed');
      return view();
    },
    ...{ callOf, changeCall },
  };
}

function innerFold(inner: Map<string, ViewFold>, { id, nested = emptyView }: ToolCallView, owners: Owners): ViewFold {
  const fold = inner.get(id) ?? createViewFold(nested, id, owners);
  inner.set(id, fold);
  return fold;
}

function createCalls(
  answer: Answer,
  owners: Owners,
  inner: ReadonlyMap<string, ViewFold>,
  outerCall: string | undefined,
) {
  const { view, parts, addPart, setPart, patch, change: changeView } = answer;
  const { addFragment, claim, drop, forget } = createStreamedCalls(answer);
  const running = new Set<string>();
  const waiting = new Set<string>();

  function addCall(complete: ToolCallPart): void {
    const call = toolCallView(complete);
    const position = claim(call);
    owners.set(call.id, outerCall);
    if (position === undefined) addPart(call);
    else setPart(position, call);
  }

  function ownCall(id: string): ToolCallView | undefined {
    const part = parts.list.at(parts.positionOf(id));
    return part?.type === 'toolCall' && part.id === id ? part : undefined;
  }

  /** The run of this turn, and the own call in which it is, that has a call. */
  function innerRunOf(id: string): { readonly owner: ToolCallView; readonly fold: ViewFold } | undefined {
    let ownerId = owners.get(id);
    while (ownerId !== undefined && owners.get(ownerId) !== outerCall) ownerId = owners.get(ownerId);
    const owner = ownCall(ownerId ?? '');
    const fold = inner.get(ownerId ?? '');
    return owner && fold?.callOf(id) && { owner, fold };
  }

  const callOf = (id: string): ToolCallView | undefined =>
    ownCall(id) ??
    innerRunOf(id)?.fold.callOf(id) ??
    (owners.has(id) ? callsOf(view()).find((call) => call.id === id) : undefined);

  /** A call that the view does not have was made before the checkpoint from which the run was resumed. */
  function changeCall(event: CallEvent, change: ChangeCall): View {
    const { id, name, arguments: args = {} } = event;
    if (!ownCall(id)) {
      const before = view();
      const run = innerRunOf(id); // a page executes its calls too
      if (run) changeCall(run.owner, (call) => ({ ...call, nested: run.fold.changeCall(event, change) }));
      else if (owners.has(id)) changeView((shown) => changeCallOf(shown, id, change)); // of an earlier run, or message
      if (view() === before) addCall({ type: 'toolCall', id, name, arguments: args });
    }
    const part = ownCall(id);
    if (!part) return view();
    const call = change(part);
    setPart(parts.positionOf(id), call);
    running.delete(id);
    waiting.delete(id);
    if (call.status === 'running') running.add(id);
    if (call.status === 'waiting') waiting.add(id);
    if (running.size > 0) patch({ status: 'runningTools' });
    else if (waiting.size > 0) patch({ status: 'waiting' });
    return view();
  }

  /** The results of a turn are those that were shown, those from before the checkpoint, and those of the background. */
  function addEarlierResult(result: ToolResultPart): void {
    if (!endedStatuses.includes(callOf(result.id)?.status)) changeCall(result, (call) => answeredCall(call, result));
  }

  function dropCalls(): void {
    forget();
    running.clear();
    waiting.clear();
  }

  return { callOf, addFragment, addCall, addEarlierResult, changeCall, dropStreamed: drop, dropCalls };
}

const withOuterId = <E extends object>(event: E, outerCall: string | undefined): E =>
  outerCall !== undefined && 'id' in event && typeof event.id === 'string' && event.id !== ''
    ? { ...event, id: nestedId(outerCall, event.id) }
    : event;
