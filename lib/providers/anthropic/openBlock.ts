import { nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';

/** Compatible servers send deltas of another kind in them. Each delta is emitted by its own kind. */
const streamedBlocks: ReadonlySet<string> = new Set(['text', 'thinking', 'tool_use']);

export class OpenBlock {
  readonly isStreamed: boolean;
  /** What to send back: the citations of a text, nothing of a tool call, all fields of any other block. */
  readonly fields: Record<string, JsonValue> = {};
  /** Always empty for tool calls, whose JSON is emitted at once. */
  json = '';
  /** Only for unknown types: the block is also sent back as it is. */
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

  /** Appends a string to the field of the same name; any other value replaces the field. */
  append(name: string, value: JsonValue | undefined): void {
    if (value === undefined || value === null) return;
    const previous = this.fields[name];
    this.fields[name] = typeof value === 'string' && typeof previous === 'string' ? previous + value : value;
  }

  isEmptyThinking(): boolean {
    const { thinking, signature } = this.fields;
    return (
      this.type === 'thinking' && nonEmptyString(thinking) === undefined && nonEmptyString(signature) === undefined
    );
  }
}
