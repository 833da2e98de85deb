import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { tryParseJson } from '../../core/json/json.js';

/** Emits the fragments of tool calls, on wires that mark the end of each call. */
export interface CallFragments {
  /** A call begins. Its `arguments` are those that arrived with its beginning. */
  start(index: unknown, call: Pick<ToolCallFragment, 'id' | 'name' | 'arguments' | 'providerData'>): void;
  /** A fragment of the arguments' JSON text. */
  fragment(index: unknown, json: string): void;
  /** The wire marks the end of the call. */
  end(index: unknown): void;
  /** Something else begins: a call that ended without arguments is complete. */
  endPending(): void;
}

/**
 * Makes the fragments of one response.
 *
 * The end of a call is emitted only where it is reliable. Anthropic also ends a call whose arguments were cut by the
 * token limit, and reports the limit later: a call whose arguments are not JSON is not marked as done. A call without
 * arguments may have been cut as well, until something follows it; if the response finishes without a cut, the call is
 * complete anyway.
 *
 * @param emit Receives the fragments.
 */
export function createCallFragments(emit: (chunk: Chunk) => void): CallFragments {
  const texts = new Map<unknown, string>();
  const complete = new Set<unknown>();
  let pending: { readonly index: unknown } | undefined;

  const emitFragment = (index: unknown, fields: Partial<ToolCallFragment>) => {
    const position = typeof index === 'number' || typeof index === 'string' ? { index } : {};
    emit({ type: 'toolCallFragment', ...position, ...fields });
  };
  const endPending = () => {
    if (pending) emitFragment(pending.index, { done: true });
    pending = undefined;
  };

  return {
    start(index, call) {
      endPending();
      texts.set(index, typeof call.arguments === 'string' ? call.arguments : '');
      complete.delete(index);
      if (typeof call.arguments === 'object') complete.add(index);
      emitFragment(index, call);
    },
    fragment(index, json) {
      if (json === '') return;
      texts.set(index, (texts.get(index) ?? '') + json);
      emitFragment(index, { arguments: json });
    },
    end(index) {
      const json = texts.get(index)?.trim();
      if (json === undefined) return;
      texts.delete(index);
      if (json === '' && !complete.has(index)) pending = { index };
      else if (json === '' || tryParseJson(json) !== undefined) emitFragment(index, { done: true });
    },
    endPending,
  };
}
