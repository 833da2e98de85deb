import { jest } from '@jest/globals';

/** Awaits what a function begins, while the timers jump ahead by `step` milliseconds. Only for work without I/O. */
export async function inVirtualTime<T>(begin: () => Promise<T>, step = 250): Promise<T> {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  const work = begin();
  const state = { isDone: false };
  const settled = () => (state.isDone = true);
  work.then(settled, settled);
  try {
    while (!state.isDone) {
      for (let turns = 0; turns < 4; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      jest.advanceTimersByTime(step);
    }
    return await work;
  } finally {
    jest.useRealTimers();
  }
}
