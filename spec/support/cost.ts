/** The CPU time, in microseconds. */
export function cost(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Shorter times say nothing about their growth, in microseconds. */
const NOISE = 20_000;
const MAX_RATIO = 2.6;

/** Whether the time of a size is at most that of half the size, twice and a little more. */
export const isLinear = (costs: readonly number[]): boolean =>
  costs.slice(1).every((time, index) => time / Math.max(costs[index] ?? 0, NOISE) < MAX_RATIO);

/** How often the sizes are measured. A reader that is not linear is not in the last round either: its ratio is 4. */
const MAX_ROUNDS = 12;

/** The shortest times of several rounds: other processes, the compiler and the garbage collector only add to them. */
export function shortestCosts<T>(read: (input: T) => unknown, inputs: readonly T[]): readonly number[] {
  let shortest = inputs.map(() => Infinity);
  for (let round = 0; round < MAX_ROUNDS && (round < 2 || !isLinear(shortest)); round++)
    shortest = inputs.map((input, index) =>
      Math.min(
        shortest[index] ?? Infinity,
        cost(() => read(input)),
      ),
    );
  return shortest;
}
