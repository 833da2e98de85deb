import { describe, expect, it } from '@jest/globals';
import { addUsage, usageOf } from '../../lib/core/usage.js';

describe('addUsage', () => {
  it('addUsage adds field by field, and keeps unknown counts absent', () => {
    expect(addUsage({ input: 1, output: 2, total: 3 }, { input: 10, reasoning: 0 })).toEqual({
      input: 11,
      output: 2,
      total: 3,
      reasoning: 0,
    });
    expect(addUsage(undefined, undefined)).toEqual({});
    expect(addUsage({}, { cachedInput: 4, cacheWriteInput: 5 })).toEqual({ cachedInput: 4, cacheWriteInput: 5 });
    expect(Object.keys(addUsage({ input: 1 }, {}))).toEqual(['input']);
  });
});

describe('usageOf', () => {
  it('usageOf omits unknown counts, and sums a missing total', () => {
    expect(usageOf({ input: 1, output: 2, reasoning: undefined })).toEqual({ input: 1, output: 2, total: 3 });
    expect(usageOf({ input: 1, output: 2, total: 9 })).toEqual({ input: 1, output: 2, total: 9 });
    expect(usageOf({ output: 2 })).toEqual({ output: 2 });
  });
});
