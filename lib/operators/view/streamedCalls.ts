import type { ToolCallFragment } from '../../core/chunk.js';
import { isJsonObject } from '../../core/json/json.js';
import { createPartialJson, type PartialJson } from '../../core/json/partialJson.js';
import type { Answer } from './answer.js';
import { isReceiving, type ToolCallView } from './view.js';

interface StreamedCall {
  readonly index: number | string;
  readonly position: number;
  readonly json: PartialJson;
}

/** The calls of a turn whose arguments arrive. */
export function createStreamedCalls({ length, partAt, positionOf, addPart, setPart, removeParts }: Answer) {
  /** By their index in the turn. */
  const streamed = new Map<number | string, StreamedCall>();
  const byPosition = new Map<number, StreamedCall>();
  /** Positions of calls whose id did not arrive yet. */
  const unnamed = new Set<number>();

  function addFragment({ index = 0, id = '', name = '', arguments: args }: ToolCallFragment): void {
    let call = streamed.get(index);
    if (!call) {
      call = { index, position: length(), json: createPartialJson() };
      streamed.set(index, call);
      byPosition.set(call.position, call);
      if (id === '') unnamed.add(call.position);
      addPart({ type: 'toolCall', id, name, arguments: {}, status: 'receiving' });
    }
    const isDelta = typeof args === 'string';
    if (isDelta) call.json.push(args);
    if (isDelta && !call.json.isDue()) return; // a snapshot after each delta would be too slow
    const snapshot = isDelta ? call.json.snapshot() : args;
    const part = partAt(call.position);
    if (part?.type !== 'toolCall') return;
    const shown = isJsonObject(snapshot) ? snapshot : part.arguments;
    if (id !== '') unnamed.delete(call.position);
    setPart(call.position, { ...part, id: id || part.id, name: name || part.name, arguments: shown });
  }

  /** The position of a call whose arguments have arrived, which is no longer incomplete. */
  function claim({ id, name }: ToolCallView): number | undefined {
    for (const position of [positionOf('toolCall', id), ...unnamed]) {
      const call = byPosition.get(position);
      const part = partAt(position);
      if (!call || part?.type !== 'toolCall' || part.name !== name) continue;
      streamed.delete(call.index);
      byPosition.delete(position);
      unnamed.delete(position);
      return position;
    }
    return undefined;
  }

  /** The history does not have calls whose arguments did not arrive. */
  function drop(): void {
    const [first] = byPosition.keys(); // the others are behind it
    forget();
    if (first !== undefined) removeParts(first, isReceiving);
  }

  function forget(): void {
    streamed.clear();
    byPosition.clear();
    unnamed.clear();
  }

  return { addFragment, claim, drop, forget };
}
