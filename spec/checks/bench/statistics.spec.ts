import { describe, expect, it } from '@jest/globals';
import { exponent, median, quantile } from './statistics.js';

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
});
