import type { Checkpoint, OpenCalls } from '../../core/checkpoint.js';
import { omitUndefined } from '../../core/json/json.js';
import { modelMessage, toolCallsOf } from '../../core/message.js';
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
  const { open: turn, ended: _, ...between } = checkpoint;
  const { messages, finish, results, waiting, ...others } = turn ?? noTurn;
  const nested = calls.flatMap(({ call, nested: run, result }) => (run && !result ? [[call.id, run] as const] : []));
  const turns = Object.fromEntries(calls.map(({ call, turn: before }) => [call.id, before]));
  const open: OpenCalls = {
    ...others,
    messages: [modelMessage(calls.map(({ call }) => call)), ...messages],
    finish,
    // A call of the open turn has its handle there.
    results: [...calls.flatMap(({ result }) => result ?? []), ...results.filter(({ id }) => !Object.hasOwn(turns, id))],
    waiting: [...waitingInside(nested), ...waiting],
    nested: { ...others.nested, ...Object.fromEntries(nested) },
  };
  return { ...between, open, background: { turns, ...omitUndefined({ turn, usage }) } };
}

const noTurn: OpenCalls = { messages: [], finish: { reason: 'toolCalls' }, results: [], waiting: [] };

/** The start of a run without the calls in the background: its turns do not know them. */
export function withoutCalls(from: RunStart): RunStart {
  const { checkpoint, resumed } = from;
  if (!checkpoint?.background || !resumed) return from;
  const { open: _, background, ...between } = checkpoint;
  const { turn: open, turns } = background;
  const nested = new Map([...resumed.nested].filter(([id]) => !Object.hasOwn(turns, id)));
  return {
    ...from,
    checkpoint: { ...between, ...omitUndefined({ open }) },
    resumed: open && { ...resumed, open, nested },
  };
}

export function storedCalls({ state, checkpoint, resumed }: RunStart): readonly StoredCall[] {
  const { background } = checkpoint ?? {};
  const { open } = resumed ?? {};
  const [calls, ...messages] = open?.messages ?? [];
  if (!open || !background || !calls) return [];
  const conversation = [...state.messages, ...messages];
  return toolCallsOf(calls).map((call) => {
    const isCaller = (message: (typeof conversation)[0]) => toolCallsOf(message).some(({ id }) => id === call.id);
    return {
      call,
      turn: background.turns[call.id] ?? 0,
      messages: conversation.slice(0, Math.max(0, conversation.findLastIndex(isCaller))),
      result: open.results.find(({ id }) => id === call.id),
      resumed: resumed?.nested.get(call.id),
    };
  });
}
