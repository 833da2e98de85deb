import type { Checkpoint, OpenCalls, ResumedTurn } from '../../core/checkpoint.js';
import { turnFollows, withoutNext } from '../../core/event.js';
import type { RunEvent } from '../../core/event.js';
import { nonEmptyArray, omitUndefined } from '../../core/json/json.js';
import { joinedResult, modelMessage, toolCallsOf } from '../../core/message.js';
import type { Message, ToolCallPart } from '../../core/message.js';
import { waitingInside } from '../../core/nested.js';
import type { Usage } from '../../core/usage.js';
import type { RunStart } from '../agentRun.js';
import type { BackgroundCall, StoredCall } from './backgroundCall.js';

/**
 * Adds the calls in the background to a checkpoint, as calls of its open turn: their inner runs, results and questions
 * then reach all that reads a checkpoint. `withoutCalls` takes them out again.
 */
export function withCalls(checkpoint: Checkpoint, calls: readonly BackgroundCall[], usage?: Usage): Checkpoint {
  if (calls.length === 0) return checkpoint;
  const { open, ended: _, ...between } = checkpoint;
  const { messages, finish, results, waiting, ...others } = open ?? noTurn;
  const nested = calls.flatMap(({ call, nested: run, result }) => (run && !result ? [[call.id, run] as const] : []));
  const ids = new Set(calls.map(({ call }) => call.id));
  return {
    ...between,
    open: {
      ...others,
      messages: [modelMessage(calls.map(({ call }) => call)), ...messages],
      finish,
      results: [...calls.flatMap(({ result }) => result ?? []), ...results.filter(({ id }) => !ids.has(id))],
      waiting: [...waitingInside(nested), ...waiting],
      nested: { ...others.nested, ...Object.fromEntries(nested) },
    },
    background: {
      turns: Object.fromEntries(calls.map(({ call, turn }) => [call.id, turn])),
      hasTurn: open !== undefined,
      handles: results.filter(({ id }) => ids.has(id)),
      ...omitUndefined({ usage }),
    },
  };
}

const noTurn: OpenCalls = { messages: [], finish: { reason: 'toolCalls' }, results: [], waiting: [] };

/** The start of a run without the calls in the background: its turns do not know them. */
export function withoutCalls(from: RunStart): RunStart {
  const { checkpoint, resumed } = from;
  if (!checkpoint?.open || !checkpoint.background) return from;
  const { open: _, background: __, ...between } = checkpoint;
  const { turns, hasTurn, handles } = checkpoint.background;
  const isOwn = (id: string) => !Object.hasOwn(turns, id);
  const { messages, results, waiting, nested = {}, ...others } = checkpoint.open;
  const ownNested = Object.entries(nested).filter(([id]) => isOwn(id));
  const own: OpenCalls = {
    ...others,
    messages: messages.slice(1),
    results: [...results.filter(({ id }) => isOwn(id)), ...handles],
    waiting: waiting.filter(({ id, path: [outer = id] = [] }) => isOwn(outer)),
    ...(ownNested.length > 0 ? { nested: Object.fromEntries(ownNested) } : {}),
  };
  if (!hasTurn) return { ...from, checkpoint: between, resumed: undefined };
  const ownResumed: ResumedTurn | undefined = resumed && {
    ...resumed,
    open: own,
    nested: new Map([...resumed.nested].filter(([id]) => isOwn(id))),
  };
  return { ...from, checkpoint: { ...between, open: own }, resumed: ownResumed };
}

/** The calls in the background with which a run is resumed. */
export function storedCalls({ state, checkpoint, resumed }: RunStart): readonly StoredCall[] {
  const { open, background } = checkpoint ?? {};
  const [calls, ...messages] = open?.messages ?? [];
  if (!open || !background || !calls) return [];
  const conversation = [...state.messages, ...messages];
  return toolCallsOf(calls).map((call) => ({
    call,
    turn: background.turns[call.id] ?? 0,
    messages: messagesBefore(conversation, call),
    result: open.results.find(({ id }) => id === call.id),
    resumed: resumed?.nested.get(call.id),
  }));
}

function messagesBefore(messages: readonly Message[], { id }: ToolCallPart): readonly Message[] {
  const position = messages.findLastIndex((message) => toolCallsOf(message).some((call) => call.id === id));
  return messages.slice(0, Math.max(0, position));
}

/** Changes the checkpoint of an event. The result then reports all calls that wait. */
export function changeCheckpoint(event: RunEvent, change: (checkpoint: Checkpoint) => Checkpoint): RunEvent {
  switch (event.type) {
    case 'checkpoint':
      return { ...event, checkpoint: change(event.checkpoint) };
    case 'turn': {
      const { checkpoint } = event;
      if (!checkpoint) return event;
      const next = turnFollows(event) ? checkpoint.state : null;
      return withoutNext({ ...event, next }, { checkpoint: change(checkpoint) });
    }
    case 'result': {
      const { checkpoint: stored, prompts, ...result } = event.result;
      const checkpoint = stored && change(stored);
      const waiting = checkpoint?.open?.waiting;
      const unjoined = prompts?.filter((message) => !joinedResult(message));
      return {
        ...event,
        result: {
          ...result,
          ...omitUndefined({ checkpoint, waiting, prompts: unjoined && nonEmptyArray(unjoined) }),
        },
      };
    }
    default:
      return event;
  }
}
