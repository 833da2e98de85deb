import { withoutPrefix, type ToolCallFragment } from '../../core/chunk.js';
import { RivuletError, errorText } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { HISTORY_LOST_EVENT, isReconnecting, type ReconnectingEvent } from '../../core/connectionEvents.js';
import { asKnownEvent, type KnownEvent } from '../../core/eventGuards.js';
import { asArray, isJsonObject, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import { createPartialJson, type PartialJson } from '../../core/json/partialJson.js';
import { joinedResult, resultsIn, type ToolCallPart, type ToolResultPart } from '../../core/message.js';
import type { ServerTool } from '../../core/metadata.js';
import { nestedId } from '../../core/nested.js';
import { addUsage } from '../../core/usage.js';
import {
  answeredCall,
  callsOf,
  changeCall as changeCallOf,
  emptyView,
  endedStatuses,
  isReceiving,
  toolCallView,
  withoutNotices,
} from './view.js';
import { createAnswer, type Answer } from './answer.js';
import type { ToolCallView, View } from './view.js';

export interface ViewFold {
  readonly start: View;
  /** The same view if nothing has changed. */
  add(event: StreamEvent): View;
  fail(thrown: unknown): View;
}

type CallEvent = Pick<ToolCallPart, 'id' | 'name'> & Partial<Pick<ToolCallPart, 'arguments'>>;

interface StreamedCall {
  readonly position: number;
  readonly json: PartialJson;
}

/** Any other event changes nothing. */
type EventHandlers = {
  readonly [T in KnownEvent['type']]?: (event: Extract<KnownEvent, { readonly type: T }>) => void;
} & { readonly reconnecting: (event: ReconnectingEvent) => void; readonly [HISTORY_LOST_EVENT]: () => void };

/** The ids of all calls, to which inner runs add theirs: a search for each id of a stranger would not be linear. */
type Ids = Set<string>;

const idsOf = (view: View): Ids => new Set(callsOf(view).map(({ id }) => id));

/** If the view before waits, the run continues its last answer. `outerCall` is the call that runs an inner run. */
export function createViewFold(before: View, outerCall?: string, ids = idsOf(before)): ViewFold {
  const answer = createAnswer(before);
  const { view, patch, addDelta, addPart } = answer;
  const { addFragment, addCall, addEarlierResult, changeCall, dropStreamed, dropCalls } = createCalls(answer, ids);
  const patchCall = (event: CallEvent, fields: Partial<ToolCallView>) =>
    changeCall(event, (call) => ({ ...call, ...fields }));
  const inner = new Map<string, ViewFold>();

  function addNested(call: ToolCallView, event: StreamEvent): ToolCallView {
    const fold = inner.get(call.id) ?? createViewFold(call.nested ?? emptyView, call.id, ids);
    inner.set(call.id, fold);
    const nested = fold.add(event);
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
    nested: (event) => changeCall(event, (call) => addNested(call, event.event)),
    toolProgress: (event) => patchCall(event, { progress: event.value }),
    toolResult: (event) => changeCall(event, (call) => answeredCall(call, event)),
    file: ({ file }) => addPart(file),
    source: ({ source }) => addPart(source),
    metadata: ({ metadata }) =>
      (asArray(objectOrEmpty(metadata)['serverTools']) as readonly ServerTool[]).forEach(answer.addServerTool),
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
  };
}

function createCalls({ view, parts, addPart, replacePart, setParts, patch, change: changeView }: Answer, ids: Ids) {
  /** Calls whose arguments arrive, by their index in the turn. */
  let streamed = new Map<number | string, StreamedCall>();
  const running = new Set<string>();
  const waiting = new Set<string>();
  /** Positions by id in the model's message. With searches, 3,000 calls took 15 times as long. */
  let positions = positionsOf(parts());

  function addFragment({ index = 0, id = '', name = '', arguments: args }: ToolCallFragment): void {
    let call = streamed.get(index);
    if (!call) {
      call = { position: parts().length, json: createPartialJson() };
      streamed.set(index, call);
      addPart({ type: 'toolCall', id, name, arguments: {}, status: 'receiving' });
    }
    const isDelta = typeof args === 'string';
    if (isDelta) call.json.push(args);
    if (isDelta && !call.json.isDue()) return; // a snapshot after each delta would be too slow
    const snapshot = isDelta ? call.json.snapshot() : args;
    replacePart(call.position, (part) => {
      if (part.type !== 'toolCall' || !isReceiving(part)) return part;
      const shown = isJsonObject(snapshot) ? snapshot : part.arguments;
      return { ...part, id: id || part.id, name: name || part.name, arguments: shown };
    });
  }

  function addCall(complete: ToolCallPart): void {
    const call = toolCallView(complete);
    const position = claimStreamed(call);
    ids.add(call.id);
    positions.set(call.id, position ?? parts().length);
    if (position === undefined) addPart(call);
    else replacePart(position, () => call);
  }

  /** A call whose arguments have arrived is no longer incomplete. */
  function claimStreamed({ id, name }: ToolCallView): number | undefined {
    for (const [index, { position }] of streamed) {
      const part = parts()[position];
      if (part?.type !== 'toolCall' || part.name !== name || (part.id || id) !== id) continue;
      streamed.delete(index);
      return position;
    }
    return undefined;
  }

  function ownCall(id: string): ToolCallView | undefined {
    const part = parts()[positions.get(id) ?? -1];
    return part?.type === 'toolCall' && part.id === id ? part : undefined;
  }

  /** A call that the view does not have was made before the checkpoint from which the run was resumed. */
  function changeCall(event: CallEvent, change: (call: ToolCallView) => ToolCallView): void {
    const { id, name, arguments: args = {} } = event;
    if (!ownCall(id)) {
      const before = view();
      if (ids.has(id)) changeView((shown) => changeCallOf(shown, id, change)); // of an inner run: a page executes it
      if (view() === before) addCall({ type: 'toolCall', id, name, arguments: args });
    }
    const part = ownCall(id);
    if (!part) return;
    const call = change(part);
    replacePart(positions.get(id) ?? -1, () => call);
    running.delete(id);
    waiting.delete(id);
    if (call.status === 'running') running.add(id);
    if (call.status === 'waiting') waiting.add(id);
    if (running.size > 0) patch({ status: 'runningTools' });
    else if (waiting.size > 0) patch({ status: 'waiting' });
  }

  /** The results of a turn are those that were shown, those from before the checkpoint, and those of the background. */
  function addEarlierResult(result: ToolResultPart): void {
    const others = () => (ids.has(result.id) ? callsOf(view()) : []);
    const shown = ownCall(result.id) ?? others().find(({ id }) => id === result.id);
    if (!endedStatuses.includes(shown?.status)) changeCall(result, (call) => answeredCall(call, result));
  }

  /** The history does not have calls whose arguments did not arrive. */
  function dropStreamed(): void {
    if (streamed.size === 0) return;
    streamed = new Map();
    setParts(parts().filter((part) => !isReceiving(part)));
    positions = positionsOf(parts());
  }

  function dropCalls(): void {
    streamed = new Map();
    running.clear();
    waiting.clear();
  }

  return { addFragment, addCall, addEarlierResult, changeCall, dropStreamed, dropCalls };
}

const positionsOf = (parts: ReturnType<Answer['parts']>): Map<string, number> =>
  new Map(parts.map((part, position) => [part.type === 'toolCall' ? part.id : '', position]));

const withOuterId = <E extends object>(event: E, outerCall: string | undefined): E =>
  outerCall !== undefined && 'id' in event && typeof event.id === 'string' && event.id !== ''
    ? { ...event, id: nestedId(outerCall, event.id) }
    : event;
