import type { ToolCallFragment } from '../../core/chunk.js';
import { isJsonObject } from '../../core/json/json.js';
import { createPartialJson, type PartialJson } from '../../core/json/partialJson.js';
import type { Answer } from './answer.js';
import type { ToolCallView } from './view.js';

interface StreamedCall {
  readonly position: number;
  readonly json: PartialJson;
}

/** The calls of a turn whose arguments arrive. */
export function createStreamedCalls({ parts, addPart, setPart, removeReceiving }: Answer) {
  /** By their index in the turn. */
  const streamed = new Map<number | string, StreamedCall>();
  /** The positions of those that are not complete. */
  const open = new Set<number>();

  function addFragment({ index = 0, id = '', name = '', arguments: args }: ToolCallFragment): void {
    let call = streamed.get(index);
    if (!call || !open.has(call.position)) {
      call = { position: parts.list.length, json: createPartialJson() };
      streamed.set(index, call);
      open.add(call.position);
      addPart({ type: 'toolCall', id, name, arguments: {}, status: 'receiving' });
    }
    const isDelta = typeof args === 'string';
    if (isDelta) call.json.push(args);
    if (isDelta && !call.json.isDue()) return; // a snapshot after each delta would be too slow
    const snapshot = isDelta ? call.json.snapshot() : args;
    const part = parts.list.at(call.position);
    if (part?.type !== 'toolCall') return;
    const shown = isJsonObject(snapshot) ? snapshot : part.arguments;
    setPart(call.position, { ...part, id: id || part.id, name: name || part.name, arguments: shown });
  }

  /** The position of a call whose arguments have arrived, which is no longer incomplete. */
  function claim({ id, name }: ToolCallView): number | undefined {
    const isCall = (position: number): boolean => {
      const part = parts.list.at(position);
      return open.has(position) && part?.type === 'toolCall' && part.name === name && (part.id || id) === id;
    };
    const known = parts.positionOf(id);
    const position = isCall(known) ? known : [...open].find(isCall); // its id did not arrive before
    open.delete(position ?? -1);
    return position;
  }

  /** The history does not have calls whose arguments did not arrive. */
  function drop(): void {
    /** The position of the first one: the others have later positions. */
    const [first] = open;
    forget();
    if (first !== undefined) removeReceiving(first);
  }

  function forget(): void {
    streamed.clear();
    open.clear();
  }

  return { addFragment, claim, drop, forget };
}
