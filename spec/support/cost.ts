import { expect } from '@jest/globals';
import { collectGarbage } from './collectGarbage.js';

/**
 * The time of this thread, in microseconds: at most the CPU time, which has the threads of the garbage collector too, and
 * at most the time of the clock, which has other processes too.
 */
export function cost(run: () => unknown): number {
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  run();
  const { user, system } = process.cpuUsage(before);
  return Math.min(user + system, Number(process.hrtime.bigint() - start) / 1000);
}

/** Collections of garbage, in microseconds. */
const NOISE = 25_000;
const MAX_RATIO = 2.6;

/**
 * Whether the largest size takes at most as long as half of it, twice and a little more; or the same from the smallest
 * size on. One of the two is enough: where data leave a cache of the processor, one step costs more than the others, and
 * what grows with the square takes four times as long at each.
 */
export const isLinear = (costs: readonly number[], maxRatio = MAX_RATIO): boolean => {
  const last = costs.length - 1;
  return [0, last - 1].some((from) => (costs[last] ?? NaN) <= (costs[from] ?? NaN) * maxRatio ** (last - from) + NOISE);
};

/** How often the sizes are measured. A reader that is not linear is not in the last round either: its ratio is 4. */
const MAX_ROUNDS = 24;
const FIRST_ROUNDS = 2;

/**
 * The shortest times of several rounds: other processes, the compiler and the garbage collector only add to them. Further
 * rounds begin without garbage: where much of the heap lives, each large round would pay for a collection.
 */
function shortestCosts<T>(read: (input: T) => unknown, inputs: readonly T[], maxRatio = MAX_RATIO): readonly number[] {
  let shortest = inputs.map(() => Infinity);
  for (let round = 0; round < MAX_ROUNDS && (round < FIRST_ROUNDS || !isLinear(shortest, maxRatio)); round++) {
    if (round >= FIRST_ROUNDS) collectGarbage();
    shortest = inputs.map((input, index) =>
      Math.min(
        shortest[index] ?? Infinity,
        cost(() => read(input)),
      ),
    );
  }
  return shortest;
}

/** The shortest time of at most `rounds` rounds, in milliseconds. Rounds that take a second are enough. */
export function shortestTime(work: () => unknown, rounds: number): number {
  let shortest = Infinity;
  for (let round = 0; round < rounds && (shortest < 1000 || round === 0); round++)
    shortest = Math.min(shortest, cost(work) / 1000);
  return shortest;
}

/** Fails if a reader takes more than `maxRatio` times as long from one input to the next. The message has the costs. */
export function expectLinear<T>(read: (input: T) => unknown, inputs: readonly T[], maxRatio = MAX_RATIO): void {
  const costs = shortestCosts(read, inputs, maxRatio);
  expect({ costs, isLinear: isLinear(costs, maxRatio) }).toEqual({ costs, isLinear: true });
}
