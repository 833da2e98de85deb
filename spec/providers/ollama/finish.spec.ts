import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { decodeOllama } from '../../../lib/providers/ollama/decode.js';
import { wholeAnswer } from '../wholeAnswer.js';

const done = (reason = 'stop', rest: JsonObject = {}): JsonObject => ({ done: true, done_reason: reason, ...rest });
const read = (line: JsonObject) => wholeAnswer(decodeOllama, [line]);

describe('finish of ollama', () => {
  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'toolCalls'],
    ['max_tokens', 'length'],
    ['load', 'other'],
    ['unload', 'other'],
    ['something_new', 'other'],
  ])('toFinishReason maps the finish reason "%s" to %s and keeps it as rawReason', (word, reason) => {
    expect(read(done(word)).finish).toEqual({ type: 'finish', reason, rawReason: word });
  });

  it('readUsage reads only the counts that were sent', () => {
    expect(read(done('stop', { eval_count: 2 })).finish?.usage).toEqual({ output: 2 });
    expect(read(done()).finish).not.toHaveProperty('usage');
  });
});
