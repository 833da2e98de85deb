import { nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';

/** Their deltas are emitted at once, each by its own kind: some servers mix them. Another block is collected first. */
const streamedBlocks: ReadonlySet<string> = new Set(['text', 'thinking', 'tool_use']);

export class OpenBlock {
  readonly isStreamed: boolean;
  /** What to send back: the citations of a text, nothing of a tool call, all fields of any other block. */
  readonly fields: Record<string, JsonValue> = {};
  /** The input of a call that is not streamed, so far. */
  json = '';
  /** Whether a block of an unknown type has emitted text, which is separated from the text before it. */
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
