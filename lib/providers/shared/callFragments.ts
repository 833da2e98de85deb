import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { tryParseJson } from '../../core/json/json.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import type { ChunkReceiver } from './chunkEmitter.js';

/**
 * Emits the fragments of the tool calls of one response, for APIs that report the end of each call. Which call a
 * fragment belongs to is decided later: see `operators/accumulate`.
 *
 * The end of a call is emitted only if it is reliable. Anthropic reports the end even of a call whose arguments were
 * truncated by the token limit, and reports the limit later. So a call whose arguments are not JSON is not marked as
 * done. A call without arguments may also have been truncated, so it is marked as done only when something follows it.
 * If the response finishes without truncation, the call is complete anyway.
 */
export class CallFragments {
  private readonly openCalls = new Map<unknown, OpenCall>();
  /** Nearly always the call of the next fragment. */
  private lastCall: OpenCall | undefined;
  /** A call that ended without arguments is complete if anything follows. */
  private ended: OpenCall | undefined;

  /** @param out Receives the fragments. */
  constructor(private readonly out: ChunkReceiver) {}

  /** Begins a call. `call.arguments` are the arguments that arrived with its first event. */
  start(index: unknown, call: Pick<ToolCallFragment, 'id' | 'name' | 'arguments' | 'providerData'>): void {
    this.completeEnded();
    const { json } = this.open(index, typeof call.arguments === 'object');
    if (typeof call.arguments === 'string') json.add(call.arguments);
    this.emit(index, call);
  }

  /** Adds a fragment of the arguments' JSON text. */
  fragment(index: unknown, json: string): void {
    if (json === '') return;
    if (!this.lastCall || this.lastCall.index !== index) this.lastCall = this.openCalls.get(index);
    this.lastCall ??= this.open(index, false);
    this.lastCall.json.add(json);
    // The case of nearly every fragment, without the copies of `emit`.
    if (typeof index === 'number') this.out.emit({ type: 'toolCallFragment', index, arguments: json });
    else this.emit(index, { arguments: json });
  }

  /** Ends a call, because the API has reported its end. */
  end(index: unknown): void {
    const call = this.openCalls.get(index);
    if (!call) return;
    this.openCalls.delete(index);
    this.lastCall = undefined;
    const json = call.json.toString().trim();
    if (json === '' && !call.hasObject) {
      this.ended = call;
      return;
    }
    const isComplete = json === '' || tryParseJson(json) !== undefined;
    if (isComplete) this.emit(index, { done: true });
  }

  /** Completes the call that has just ended without arguments, because something else begins. */
  completeEnded(): void {
    if (this.ended) this.emit(this.ended.index, { done: true });
    this.ended = undefined;
  }

  private open(index: unknown, hasObject: boolean): OpenCall {
    const call = { index, json: new StringBuilder(), hasObject };
    this.openCalls.set(index, call);
    this.lastCall = call;
    return call;
  }

  private emit(index: unknown, fields: Partial<ToolCallFragment>): void {
    const indexField = typeof index === 'number' || typeof index === 'string' ? { index } : {};
    this.out.emit({ type: 'toolCallFragment', ...indexField, ...fields });
  }
}

interface OpenCall {
  readonly index: unknown;
  readonly json: StringBuilder;
  readonly hasObject: boolean;
}

/**
 * Creates the `CallFragments` of one response.
 *
 * @param emit Receives the fragments.
 */
export const createCallFragments = (emit: (chunk: Chunk) => void): CallFragments => new CallFragments({ emit });
