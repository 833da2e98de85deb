import { describe, expect, it } from '@jest/globals';
import { continues, exponent, median, quantile } from './statistics.js';

describe('the statistics of the benchmark', () => {
  it('median returns the middle value, or the mean of the two middle values', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([7])]).toEqual([2, 2.5, 7]);
  });

  it('quantile uses the nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, at) => 100 - at);
    expect([quantile(hundred, 0.95), quantile(hundred, 0.99), quantile([5], 0.95)]).toEqual([95, 99, 5]);
  });

  it('exponent returns the exponent of growth', () => {
    const sizes = [10, 100, 1_000];
    expect(exponent(sizes.map((size) => [size, 3 * size]))).toBeCloseTo(1);
    expect(exponent(sizes.map((size) => [size, 0.5 * size ** 2]))).toBeCloseTo(2);
    expect(exponent(sizes.map((size) => [size, 7]))).toBeCloseTo(0);
  });

  it('continues requires the least number of runs, even if the first has spent the budget', () => {
    const runs = [0, 4, 5].map((done) => continues(done, { least: 5, most: 10 }, true));
    expect(runs).toEqual([true, true, false]);
  });

  it('continues ends at the largest number of runs, even if budget is left', () => {
    const runs = [5, 9, 10].map((done) => continues(done, { least: 5, most: 10 }, false));
    expect(runs).toEqual([true, true, false]);
  });
});
