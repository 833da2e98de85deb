import { describe, expect, it } from '@jest/globals';
import { costOf } from '../../lib/core/prices.js';

describe('costOf', () => {
  it.each([
    [{ input: 1_000_000, output: 2_000_000 }, { input: 1, output: 10 }, 21],
    [{ input: 1_000_000, cachedInput: 400_000 }, { input: 1, output: 10, cachedInput: 0.1 }, 0.64],
    [{ input: 1_000_000, cacheWriteInput: 400_000 }, { input: 1, output: 10, cacheWriteInput: 1.25 }, 1.1],
    [
      { input: 1_000_000, cacheWriteInput: 400_000, longCacheWriteInput: 100_000 },
      { input: 1, output: 10, cacheWriteInput: 1.25, longCacheWriteInput: 2 },
      1.175,
    ],
    [
      { input: 400_000, cacheWriteInput: 400_000, longCacheWriteInput: 100_000 },
      { input: 1, output: 10, cacheWriteInput: 1.25 },
      0.5,
    ],
    [{ input: 1_000_000, cachedInput: 400_000, cacheWriteInput: 100_000 }, { input: 1, output: 10 }, 1],
    [{ output: 500_000, reasoning: 400_000 }, { input: 1, output: 10 }, 5],
    [{}, { input: 1, output: 10 }, 0],
  ])('costOf(%j, %j) is %d', (usage, prices, cost) => {
    expect(costOf(usage, prices)).toBeCloseTo(cost, 10);
  });
});
