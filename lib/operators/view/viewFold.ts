import { withoutPrefix } from '../../core/chunk.js';
import type { FinishReason, ToolCallFragment } from '../../core/chunk.js';
import { RivuletError, errorText } from '../../core/errors.js';
import type { RunResult, StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { asArray, isJsonObject, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import { createPartialJson } from '../../core/json/partialJson.js';
import type { PartialJson } from '../../core/json/partialJson.js';
import { hasToolResults } from '../../core/message.js';
import type { Message } from '../../core/message.js';
import type { ServerTool } from '../../core/metadata.js';
import { addUsage } from '../../core/usage.js';
import {
  addMessage,
  answeredCall,
  appendMessage,
  changeCall as changeCallOf,
  isReceiving,
  replaceLast,
  toolCallView,
  withDelta,
  withoutNotices,
} from './view.js';
import { HISTORY_LOST_EVENT, isReconnecting } from '../../core/connectionEvents.js';
import { createInnerFolds, withOuterId } from './innerFolds.js';
import type { MessageView, PartView, ToolCallView, View, ViewStatus } from './view.js';

/** Builds a view from the events of a run. */
export interface ViewFold {
  /** The view before the first event. */
  readonly start: View;
  /** Adds an event, and returns the view: the same one if nothing has changed. */
  add(event: StreamEvent): View;
  /** Adds the failure of the run. */
  fail(thrown: unknown): View;
}

/** A call whose arguments arrive. */
interface StreamedCall {
  /** Where it is in the model's message. */
  readonly position: number;
  readonly json: PartialJson;
}

const endStatuses: Partial<Record<FinishReason, ViewStatus>> = { stopped: 'stopped', waiting: 'waiting' };

/**
 * Creates the view of one run.
 *
 * @param start The view before the run. If it waits, the run continues its last answer.
 * @param outerCall The id of the call whose tool runs the agent. Default: the run is not an inner one.
 */
export function createViewFold(start: View, outerCall?: string): ViewFold {
  const { error: _, finishReason: _reason, ...initial } = withoutNotices(start); // without the end of the last run
  /** Whether the run has a model message; before that, the last message is the user's. */
  let hasAnswer = initial.status === 'waiting' && initial.messages.at(-1)?.role === 'model';
  let view: View = { ...initial, status: 'sending' };
  /** The calls whose arguments arrive, by their index in the turn. */
  let streamed = new Map<number | string, StreamedCall>();
  /** The ids of the calls that run or wait, and the status of the view: that of a running call comes first. */
  const active = [
    { callStatus: 'running', viewStatus: 'runningTools', ids: new Set<string>() },
    { callStatus: 'waiting', viewStatus: 'waiting', ids: new Set<string>() },
  ] as const;
  /** Where the calls are in the model's message, by id. With searches, 3,000 calls took 15 times as long. */
  let positions = callPositions();
  /** The inner runs, by the ids of their calls. */
  const inner = createInnerFolds(createViewFold);
  /** The number of parts of the answer before the current turn: `retract` returns to it. */
  let turnStart = answer().parts.length;

  return {
    start: view,
    add(event) {
      if (isReconnecting(event)) view = { ...view, reconnecting: { attempt: event.attempt, delay: event.delay } };
      else {
        if (view.reconnecting) view = withoutNotices(view);
        addEvent(event);
      }
      return view;
    },
    fail(thrown) {
      const error = thrown instanceof RivuletError ? thrown.toJSON() : { code: 'unknown', message: errorText(thrown) };
      dropStreamedCalls();
      markAnswer('failed');
      return (view = { ...withoutNotices(view), status: 'failed', error });
    },
  };

  function addEvent(event: StreamEvent): void {
    const known = outerCall === undefined ? asKnownEvent(event) : withOuterId(asKnownEvent(event), outerCall);
    switch (known.type) {
      case 'text':
        addDelta('text', withoutPrefix(known));
        break;
      case 'thinking':
        addDelta('thinking', known.text);
        break;
      case 'toolCallFragment':
        addFragment(known);
        break;
      case 'toolCall':
        addCall(toolCallView(known));
        break;
      case 'toolWaiting':
        changeCall(known.id, (call) => ({ ...call, status: 'waiting', ...omitUndefined({ details: known.details }) }));
        break;
      case 'toolStart':
        changeCall(known.id, (call) => ({ ...call, status: 'running' }));
        break;
      case 'nested':
        changeCall(known.id, (call) => inner.add(call, known.event));
        break;
      case 'toolProgress':
        changeCall(known.id, (call) => ({ ...call, progress: known.value }));
        break;
      case 'toolResult':
        changeCall(known.id, (call) => answeredCall(call, known));
        break;
      case 'file':
        addPart(known.file);
        break;
      case 'source':
        addPart(known.source);
        break;
      case 'metadata':
        for (const tool of asArray(objectOrEmpty(known.metadata)['serverTools']) as readonly ServerTool[])
          addServerTool(tool);
        break;
      case 'message':
        if (known.message.role === 'model') dropStreamedCalls();
        else if (!hasToolResults(known.message)) addPrompt(known.message);
        break;
      case 'retry':
        view = { ...view, retry: { attempt: known.attempt, delay: known.delay, error: known.error } };
        break;
      case 'retract':
        streamed = new Map();
        inner.clear();
        for (const { ids } of active) ids.clear();
        if (hasAnswer) setParts(answer().parts.slice(0, turnStart), 'sending');
        break;
      case 'turn':
        view = { ...view, usage: addUsage(view.usage, known.usage) };
        if (['toolCalls', 'paused'].includes(known.finishReason)) view = { ...view, status: 'sending' };
        startTurn();
        break;
      case 'result':
        end(known.result);
        break;
      default:
        if (event.type === HISTORY_LOST_EVENT) view = { ...view, historyLost: true };
    }
  }

  /** Adds a message that the user sent during the run. The text after it is another answer. */
  function addPrompt(prompt: Message): void {
    dropStreamedCalls();
    view = addMessage(view, prompt);
    hasAnswer = false;
    startTurn();
  }

  function addDelta(type: 'text' | 'thinking', text: string): void {
    setParts(withDelta(answer().parts, turnStart, type, text), type === 'text' ? 'streaming' : 'thinking');
  }

  function addFragment({ index = 0, id = '', name = '', arguments: args }: ToolCallFragment): void {
    let call = streamed.get(index);
    if (!call) {
      call = { position: answer().parts.length, json: createPartialJson() };
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

  function addCall(call: ToolCallView): void {
    const position = claimStreamedCall(call);
    positions.set(call.id, position ?? answer().parts.length);
    if (position === undefined) addPart(call);
    else replacePart(position, () => call);
  }

  /** The position of the call whose arguments have arrived, if it was streamed. It is then no longer incomplete. */
  function claimStreamedCall({ id, name }: ToolCallView): number | undefined {
    const { parts } = answer();
    for (const [index, { position }] of streamed) {
      const part = parts[position];
      if (part?.type !== 'toolCall' || part.name !== name || (part.id || id) !== id) continue;
      streamed.delete(index);
      return position;
    }
    return undefined;
  }

  /** Removes the calls whose arguments did not arrive: the history does not have them. */
  function dropStreamedCalls(): void {
    if (streamed.size === 0) return;
    streamed = new Map();
    const complete = answer().parts.filter((part) => !isReceiving(part));
    setParts(complete, view.status);
    positions = callPositions();
  }

  function callPositions(): Map<string, number> {
    return new Map(answer().parts.map((part, position) => [part.type === 'toolCall' ? part.id : '', position]));
  }

  function changeCall(id: string, change: (call: ToolCallView) => ToolCallView): void {
    const position = positions.get(id) ?? -1;
    const part = answer().parts[position];
    if (part?.type !== 'toolCall' || part.id !== id) {
      view = changeCallOf(view, id, change); // of an inner run: this page executes it
      return;
    }
    const call = change(part);
    replacePart(position, () => call);
    for (const { callStatus, ids } of active) {
      if (call.status === callStatus) ids.add(id);
      else ids.delete(id);
    }
    const status = active.find(({ ids }) => ids.size > 0)?.viewStatus;
    if (status) view = { ...view, status };
  }

  function addServerTool(tool: ServerTool): void {
    const position = answer().parts.findLastIndex((part) => part.type === 'serverTool' && part.tool.id === tool.id);
    if (position < 0) addPart({ type: 'serverTool', tool });
    else
      replacePart(position, (part) =>
        part.type === 'serverTool' ? { ...part, tool: { ...part.tool, ...tool } } : part,
      );
  }

  function startTurn(): void {
    dropStreamedCalls();
    turnStart = answer().parts.length;
  }

  function end({ finishReason, output }: RunResult): void {
    dropStreamedCalls();
    if (finishReason === 'stopped') markAnswer('stopped');
    const status = endStatuses[finishReason] ?? 'idle';
    view = { ...withoutNotices(view), status, finishReason, ...(output === undefined ? {} : { output }) };
  }

  /** Marks the answer as incomplete, if there is one. */
  function markAnswer(ended: 'stopped' | 'failed'): void {
    if (hasAnswer) view = replaceLast(view, { ...answer(), ended });
  }

  /** The model's message of this run, or an empty one that is not part of the view yet. */
  function answer(): MessageView {
    const last = view.messages.at(-1);
    return hasAnswer && last ? last : { id: '', role: 'model', parts: [] };
  }

  function addPart(part: PartView): void {
    setParts([...answer().parts, part], 'streaming');
  }

  function replacePart(position: number, change: (part: PartView) => PartView): void {
    const parts = [...answer().parts];
    const part = parts[position];
    if (!part) return;
    parts[position] = change(part);
    setParts(parts, view.status);
  }

  function setParts(parts: readonly PartView[], status: ViewStatus): void {
    const current = withoutNotices(view);
    const changed = hasAnswer ? replaceLast(current, { ...answer(), parts }) : appendMessage(current, 'model', parts);
    view = { ...changed, status };
    hasAnswer = true;
  }
}
