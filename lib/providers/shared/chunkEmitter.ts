import type { Chunk, FinishReason } from '../../core/chunk.js';
import { omitUndefined, type JsonValue } from '../../core/json/json.js';
import { usageOf, type Usage } from '../../core/usage.js';
import { interrupted } from '../../protocol/untilFinish.js';

export interface ChunkReceiver {
  emit(chunk: Chunk): void;
}

/** Servers repeat sources and files. `keys`: those of the chunks that were emitted. */
export function emitOnce(out: ChunkReceiver, keys: Set<string>, key: string, chunk: Chunk): void {
  if (!keys.has(key)) out.emit(chunk);
  keys.add(key);
}

/** The rules that all wires share: metadata first, one finish, one usage, an error if the response ends too early. */
export class ChunkEmitter implements ChunkReceiver {
  /** Whether a chunk was emitted. Metadata that is added after that is not emitted. */
  hasEmitted = false;
  /** The usage that was stored; undefined if there is none. */
  usage: Usage | undefined;
  private metadata: Record<string, JsonValue> | undefined;
  private characters = 0;
  private fragments = 0;
  private reason: FinishReason | undefined;
  private rawReason: string | undefined;
  private hasContinued = false;

  /**
   * @param provider The model's provider, for errors.
   * @param out Receives the chunks, in order.
   */
  constructor(
    private readonly provider: string,
    private readonly out: (chunk: Chunk) => void,
  ) {}

  /** Adds a field to the response's metadata. The first value of a name wins; undefined adds nothing. */
  addMetadata(name: string, value: JsonValue | undefined): void {
    if (value !== undefined && !this.hasEmitted) (this.metadata ??= {})[name] ??= value;
  }

  /**
   * Emits a chunk. The metadata is emitted directly before the first chunk: if the first event is an error, nothing has
   * been emitted yet, and the request can be retried.
   */
  emit(chunk: Chunk): void {
    if (!this.hasEmitted && this.metadata) this.out({ type: 'metadata', metadata: this.metadata });
    this.hasEmitted = true;
    if (chunk.type === 'text' || chunk.type === 'thinking') this.characters += chunk.text.length;
    else if (chunk.type === 'toolCallFragment') this.fragments++;
    this.hasContinued ||= this.reason !== undefined && continuesResponse(chunk);
    this.out(chunk);
  }

  /**
   * Stores the finish reason. The first finish reason wins, unless text, thinking, a fragment or a file arrives after
   * it. In that case it did not end the response (translators to Google's API add `STOP` to chunks without content,
   * router-for-me/CLIProxyAPI#5651), and the next finish reason replaces it.
   *
   * @param reason The finish reason.
   * @param rawReason The finish reason as the provider sent it.
   */
  setFinishReason(reason: FinishReason, rawReason: string): void {
    if (this.reason !== undefined && !this.hasContinued) return;
    this.reason = reason;
    this.rawReason = rawReason;
    this.hasContinued = false;
  }

  /** Input and output counts each replace all earlier ones. A usage without counts is ignored. */
  setUsage(usage: Usage): void {
    if (Object.keys(usage).length > 0) this.usage = this.usage ? mergeUsage(this.usage, usage) : usage;
  }

  /**
   * Whether the response is complete.
   *
   * @param terminal Whether the protocol's terminal marker arrived.
   */
  isComplete(terminal: boolean): boolean {
    return this.reason !== undefined || terminal;
  }

  /**
   * Returns the reason why the response ended. Call it after the last frame.
   *
   * @param terminal Whether the protocol's terminal marker arrived.
   * @returns The finish reason; `unspecified` if only the terminal marker arrived.
   * @throws StreamInterruptedError if neither a finish reason nor the terminal marker arrived.
   */
  finishReason(terminal: boolean): FinishReason {
    if (this.isComplete(terminal)) return this.reason ?? 'unspecified';
    throw interrupted(
      this.provider,
      `The response of ${this.provider} ended without a finish reason, ` +
        `after ${this.characters} characters of text and thinking and ${this.fragments} fragments of tool calls.`,
    );
  }

  /**
   * Emits the `finish`.
   *
   * @param reason Replaces the stored finish reason. Default: the stored finish reason.
   */
  emitFinish(reason: FinishReason = this.reason ?? 'unspecified'): void {
    const { rawReason, usage } = this;
    if (rawReason !== undefined && usage) this.emit({ type: 'finish', reason, rawReason, usage });
    else this.emit({ type: 'finish', reason, ...omitUndefined({ rawReason, usage }) });
  }
}

/**
 * Creates the emitter of one response. Its `emit` may be passed on without the emitter.
 *
 * @param provider The model's provider, for errors.
 * @param out Receives the chunks, in order.
 */
export function createChunkEmitter(provider: string, out: (chunk: Chunk) => void): ChunkEmitter {
  const emitter = new ChunkEmitter(provider, out);
  emitter.emit = emitter.emit.bind(emitter);
  return emitter;
}

function continuesResponse(chunk: Chunk): boolean {
  switch (chunk.type) {
    case 'text':
    case 'thinking':
      return chunk.text !== '';
    case 'toolCallFragment':
    case 'file':
      return true;
    default:
      return false;
  }
}

/** Counts are merged as a group, so that no earlier count is combined with a later one of its group. */
function mergeUsage(earlier: Usage, later: Usage): Usage {
  const hasInput = (later.input ?? later.cachedInput ?? later.cacheWriteInput) !== undefined;
  const hasOutput = (later.output ?? later.reasoning) !== undefined;
  const { input, cachedInput, cacheWriteInput } = hasInput ? later : earlier;
  const { output, reasoning } = hasOutput ? later : earlier;
  return usageOf({ input, output, total: later.total, cachedInput, cacheWriteInput, reasoning });
}
