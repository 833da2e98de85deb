import { tryParseJson } from '../../core/json/json.js';
import type { Chunk, ToolCallFragment } from '../../core/chunk.js';

/** Fragments of calls, on wires that mark the end of each. */
export interface CallFragments {
  /** A call begins. `arguments` are those that came with its beginning. */
  start(index: unknown, begun: Pick<ToolCallFragment, 'id' | 'name' | 'arguments' | 'providerData'>): void;
  /** A piece of the arguments' JSON text. */
  fragment(index: unknown, json: string): void;
  /** The wire marks the end of the call. */
  end(index: unknown): void;
  /** Something else begins: a call that ended without arguments has none. */
  endPending(): void;
}

/**
 * An end is passed on where it can be believed. Anthropic ends a call also when the limit of tokens has cut its arguments, and says so only later:
 * so arguments that are no JSON are not marked as whole. A call without any may have been cut as well, until something follows it; at a finish
 * that is no cut, it is whole anyway.
 */
export function createCallFragments(tell: (chunk: Chunk) => void): CallFragments {
  const texts = new Map<unknown, string>();
  const complete = new Set<unknown>();
  let bare: { readonly index: unknown } | undefined;

  const fragment = (index: unknown, fields: Partial<ToolCallFragment>) => {
    const at = typeof index === 'number' || typeof index === 'string' ? { index } : {};
    tell({ type: 'toolCallFragment', ...at, ...fields });
  };
  const settle = () => {
    if (bare) fragment(bare.index, { done: true });
    bare = undefined;
  };

  return {
    start(index, begun) {
      settle();
      texts.set(index, typeof begun.arguments === 'string' ? begun.arguments : '');
      complete.delete(index);
      if (typeof begun.arguments === 'object') complete.add(index);
      fragment(index, begun);
    },
    fragment(index, json) {
      if (json === '') return;
      texts.set(index, (texts.get(index) ?? '') + json);
      fragment(index, { arguments: json });
    },
    end(index) {
      const json = texts.get(index)?.trim();
      if (json === undefined) return;
      texts.delete(index);
      if (json === '' && !complete.has(index)) bare = { index };
      else if (json === '' || tryParseJson(json) !== undefined) fragment(index, { done: true });
    },
    endPending: settle,
  };
}
