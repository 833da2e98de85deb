import { isJsonObject, textOf } from '../../core/json.js';
import type { JsonObject, JsonValue } from '../../core/json.js';
import type { Message } from '../../core/message.js';
import { outputOf } from './modelItems.js';

/** The container that an item ran in. */
export function containerOf(item: JsonObject): string | undefined {
  return item['type'] === 'code_interpreter_call' ? textOf(item['container_id']) : undefined;
}

/** The container that the conversation's code ran in last: its files and variables are there. */
export function lastContainer(messages: readonly Message[]): string | undefined {
  for (const message of [...messages].reverse()) {
    const container = outputOf(message)
      .map(containerOf)
      .findLast((id) => id !== undefined);
    if (container !== undefined) return container;
  }
  return undefined;
}

/** A tool that has OpenAI choose a container, with the one that is there. Any other is left as it is. */
export function inContainer(tool: JsonObject, container: string | undefined): JsonObject {
  return container !== undefined && takesAny(tool) ? { ...tool, container } : tool;
}

/** Whether a tool has OpenAI choose its container (`{ type: 'auto' }`). */
export function takesAny({ type, container }: Readonly<Record<string, JsonValue | undefined>>): boolean {
  return type === 'code_interpreter' && isJsonObject(container) && container['type'] === 'auto';
}
