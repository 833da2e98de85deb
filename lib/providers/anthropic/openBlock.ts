import { nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';

/** Some servers send deltas of another kind in these blocks. Each delta is emitted by its own kind. */
const streamedBlocks: ReadonlySet<string> = new Set(['text', 'thinking', 'tool_use']);

export class OpenBlock {
  readonly isStreamed: boolean;
  /** What to send back: the citations of a text, nothing of a tool call, all fields of any other block. */
  readonly fields: Record<string, JsonValue> = {};
  json = '';
  /** Only for unknown types: the block is also sent back unchanged. */
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
