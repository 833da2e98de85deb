import { nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';

/**
 * The types of block whose content is emitted as chunks. Some compatible servers send deltas of another kind in them:
 * text in an open call, thinking in a text. Each delta is emitted by its own kind.
 */
const streamedBlocks: ReadonlySet<string> = new Set(['text', 'thinking', 'tool_use']);

export class OpenBlock {
  readonly isStreamed: boolean;
  /**
   * The fields to send back in the next request: for a text only its citations, for a tool call none (their other
   * content is emitted as chunks), for any other block all fields.
   */
  readonly fields: Record<string, JsonValue> = {};
  /** The `partial_json` received so far. Always empty for tool calls, whose JSON is emitted at once. */
  json = '';
  /** Whether a text of the block was emitted, although the block is sent back as it is: only for unknown types. */
  hasText = false;

  constructor(
    readonly type: string,
    readonly index: unknown,
  ) {
    this.isStreamed = streamedBlocks.has(type);
  }

  appendAll(delta: JsonObject): void {
    for (const [name, value] of Object.entries(delta)) if (name !== 'type') this.append(name, value);
  }

  /**
   * Adds a field of a delta. A string is appended to the block's field of the same name (`thinking`, `signature`,
   * fields of unknown blocks); any other value replaces it.
   */
  append(name: string, value: JsonValue | undefined): void {
    if (value === undefined || value === null) return;
    const previous = this.fields[name];
    this.fields[name] = typeof value === 'string' && typeof previous === 'string' ? previous + value : value;
  }

  /** Whether it is thinking of which neither a text nor a signature has arrived. */
  isEmptyThinking(): boolean {
    const { thinking, signature } = this.fields;
    return (
      this.type === 'thinking' && nonEmptyString(thinking) === undefined && nonEmptyString(signature) === undefined
    );
  }
}
