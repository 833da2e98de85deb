import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { tryParseJson } from '../../core/json/json.js';
import type { ChunkReceiver } from './chunkEmitter.js';

/**
 * Emits the fragments of the tool calls of one response, for APIs that report the end of each call.
 *
 * The end of a call is emitted only if it is reliable. Anthropic reports the end even of a call whose arguments were
 * truncated by the token limit, and reports the limit later. So a call whose arguments are not JSON is not marked as
 * done. A call without arguments may also have been truncated, so it is marked as done only when something follows it.
 * If the response finishes without truncation, the call is complete anyway.
 */
export class CallFragments {
  private readonly texts = new Map<unknown, string>();
  private readonly completeIndexes = new Set<unknown>();
  private pending: { readonly index: unknown } | undefined;

  /** @param out Receives the fragments. */
  constructor(private readonly out: ChunkReceiver) {}

  /** Begins a call. `call.arguments` are the arguments that arrived with its first event. */
  start(index: unknown, call: Pick<ToolCallFragment, 'id' | 'name' | 'arguments' | 'providerData'>): void {
    this.endPending();
    this.texts.set(index, typeof call.arguments === 'string' ? call.arguments : '');
    this.completeIndexes.delete(index);
    if (typeof call.arguments === 'object') this.completeIndexes.add(index);
    this.emit(index, call);
  }

  /** Adds a fragment of the arguments' JSON text. */
  fragment(index: unknown, json: string): void {
    if (json === '') return;
    this.texts.set(index, (this.texts.get(index) ?? '') + json);
    this.emit(index, { arguments: json });
  }

  /** Ends a call, because the API has reported its end. */
  end(index: unknown): void {
    const json = this.texts.get(index)?.trim();
    if (json === undefined) return;
    this.texts.delete(index);
    if (json === '' && !this.completeIndexes.has(index)) this.pending = { index };
    else if (json === '' || tryParseJson(json) !== undefined) this.emit(index, { done: true });
  }

  /** Completes a call that ended without arguments, because something else begins. */
  endPending(): void {
    if (this.pending) this.emit(this.pending.index, { done: true });
    this.pending = undefined;
  }

  private emit(index: unknown, fields: Partial<ToolCallFragment>): void {
    const indexField = typeof index === 'number' || typeof index === 'string' ? { index } : {};
    this.out.emit({ type: 'toolCallFragment', ...indexField, ...fields });
  }
}

/**
 * Creates the `CallFragments` of one response.
 *
 * @param emit Receives the fragments.
 */
export const createCallFragments = (emit: (chunk: Chunk) => void): CallFragments => new CallFragments({ emit });
