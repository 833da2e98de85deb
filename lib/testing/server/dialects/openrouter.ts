import { isJsonObject, textOf } from '../../../core/json.js';
import type { JsonObject } from '../../../core/json.js';
import { variant, withChoice } from './variant.js';

/**
 * OpenRouter's Chat Completions, at `/api/v1/chat/completions`: `reasoning` with the same text in `reasoning_details`, the maker's own word for the
 * finish, the cost beside the usage, and errors within the stream as it documents them ("Errors and debugging"): a number for a code, and a choice
 * that finished with `error`. (Its comments are the server's option `comments`.)
 */
export const openrouter = variant({
  bases: { openrouter: '/api/v1' },
  serves: (path) => path.endsWith('/api/v1/chat/completions'),
  usageWithFinish: true,
  frame: (frame) => {
    const { usage, error, ...rest }: JsonObject = { provider: 'Loopback', ...frame };
    if (isJsonObject(error)) return failed(error);
    const told = isJsonObject(usage) ? { ...rest, usage: { ...usage, cost: 0.00012 } } : rest;
    return withChoice(told, (choice, delta) => ({
      ...choice,
      native_finish_reason: choice['finish_reason'] ?? null,
      delta: reasoning(delta),
    }));
  },
});

function reasoning({ reasoning_content: text, ...rest }: JsonObject): JsonObject {
  if (text === undefined) return rest;
  return { ...rest, content: '', reasoning: text, reasoning_details: [{ type: 'reasoning.text', text, format: 'loopback-v1', index: 0 }] };
}

function failed({ message, code }: JsonObject): JsonObject {
  const known = textOf(code) ?? '';
  return {
    error: { code: /^\d+$/.test(known) ? Number(known) : known === '' ? 502 : known, message: message ?? '' },
    choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null }],
  };
}
