import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { tryParseJson } from '../../core/json/json.js';

/** Emits the fragments of tool calls, for APIs that report the end of each call. */
export interface CallFragments {
  /** Begins a call. `call.arguments` are the arguments that arrived with its first event. */
  start(index: unknown, call: Pick<ToolCallFragment, 'id' | 'name' | 'arguments' | 'providerData'>): void;
  /** Adds a fragment of the arguments' JSON text. */
  fragment(index: unknown, json: string): void;
  /** Ends a call, because the API has reported its end. */
  end(index: unknown): void;
  /** Completes a call that ended without arguments, because something else begins. */
  endPending(): void;
}

/**
 * Creates the `CallFragments` of one response.
 *
 * The end of a call is emitted only if it is reliable. Anthropic reports the end even of a call whose arguments were
 * truncated by the token limit, and reports the limit later. So a call whose arguments are not JSON is not marked as
 * done. A call without arguments may also have been truncated, so it is marked as done only when something follows it.
 * If the response finishes without truncation, the call is complete anyway.
 *
 * @param emit Receives the fragments.
 */
export function createCallFragments(emit: (chunk: Chunk) => void): CallFragments {
  const texts = new Map<unknown, string>();
  const completeIndexes = new Set<unknown>();
  let pending: { readonly index: unknown } | undefined;

  const emitFragment = (index: unknown, fields: Partial<ToolCallFragment>) => {
    const indexField = typeof index === 'number' || typeof index === 'string' ? { index } : {};
    emit({ type: 'toolCallFragment', ...indexField, ...fields });
  };
  const endPending = () => {
    if (pending) emitFragment(pending.index, { done: true });
    pending = undefined;
  };

  return {
    start(index, call) {
      endPending();
      texts.set(index, typeof call.arguments === 'string' ? call.arguments : '');
      completeIndexes.delete(index);
      if (typeof call.arguments === 'object') completeIndexes.add(index);
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
      if (json === '' && !completeIndexes.has(index)) pending = { index };
      else if (json === '' || tryParseJson(json) !== undefined) emitFragment(index, { done: true });
    },
    endPending,
  };
}
