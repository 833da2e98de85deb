import { isJsonObject, textOf } from '../../core/json.js';
import type { JsonObject, JsonValue } from '../../core/json.js';
import { textIn } from './pieces.js';
import { listOf } from './values.js';

/**
 * The fields of an answer that its provider wants to see again in the history:
 *
 * - `reasoning_content` with tool calls: DeepSeek and Moonshot refuse the request after the tools ran (400, "Missing reasoning_content field")
 *   when it is not there. Without calls it is of no use to them, so that it is not stored.
 * - `reasoning_details`: OpenRouter's signed or encrypted reasoning.
 */
export const echoedFields = ['reasoning_content', 'reasoning_details'] as const;

/** Collects what has to be sent back, over the deltas of one answer. */
export interface Echo {
  take(delta: JsonObject): void;
  /** What to store with the message; undefined when there is nothing. */
  data(withCalls: boolean): JsonObject | undefined;
}

/** A fresh, empty echo. */
export function createEcho(): Echo {
  let content = '';
  const details: JsonObject[] = [];
  return {
    take(delta) {
      content += textIn(delta['reasoning_content']);
      for (const detail of listOf(delta['reasoning_details'])) {
        if (isJsonObject(detail)) addDetail(details, detail);
      }
    },
    data(withCalls) {
      const data: Record<string, JsonValue> = {};
      if (withCalls && content !== '') data['reasoning_content'] = content;
      if (details.length > 0) data['reasoning_details'] = details;
      return Object.keys(data).length > 0 ? data : undefined;
    },
  };
}

/** A detail streams in pieces of one type and index; the signature comes with the last. Encrypted ones come whole. */
function addDetail(details: JsonObject[], next: JsonObject): void {
  const previous = details.at(-1);
  const continues =
    previous !== undefined &&
    previous['type'] === next['type'] &&
    previous['index'] === next['index'] &&
    next['data'] === undefined &&
    !(textOf(previous['id']) !== undefined && textOf(next['id']) !== undefined && previous['id'] !== next['id']);
  if (!continues) details.push(next);
  else details[details.length - 1] = joined(previous, next);
}

function joined(previous: JsonObject, next: JsonObject): JsonObject {
  const told = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null && value !== ''));
  const texts = (['text', 'summary'] as const).flatMap((field) => {
    const text = textIn(previous[field]) + textIn(next[field]);
    return text === '' ? [] : [[field, text] as const];
  });
  return { ...previous, ...told, ...Object.fromEntries(texts) };
}
