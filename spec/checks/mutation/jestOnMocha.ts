// `@jest/globals` for specs that run in Mocha. Stryker's runner for Mocha loads the specs once and then runs only the
// tests that reach a mutant, in the same process: a mutant costs milliseconds. Jest loads every module again for each
// mutant, which costs seconds.
import { ModernFakeTimers } from '@jest/fake-timers';
import { expect as jestExpect } from 'expect';
import { bind } from 'jest-each';
import { ModuleMocker } from 'jest-mock';

type Body = () => unknown;

/** A running test of Mocha. */
interface Runnable {
  timeout(milliseconds: number): unknown;
}

/** What Mocha puts on the global object while it loads a file. */
interface Mocha {
  readonly describe: ((title: string, body: Body) => unknown) & {
    readonly skip: (title: string, body: Body) => unknown;
  };
  readonly it: ((title: string, body?: (this: Runnable) => unknown) => unknown) & {
    readonly skip: (title: string, body?: Body) => unknown;
  };
  readonly before: (body: Body) => unknown;
  readonly after: (body: Body) => unknown;
  readonly beforeEach: (body: Body) => unknown;
  readonly afterEach: (body: Body) => unknown;
}

const mocha = globalThis as unknown as Mocha;

/** The variables of Stryker: the changed place of the code, if there is one. */
const stryker = () => (globalThis as { readonly __stryker__?: { readonly activeMutant?: string } }).__stryker__;

/** A test that waits for what a mutant prevents fails after this time, in milliseconds. */
const MUTANT_TIMEOUT = 2500;

// Mocha passes `done` to a function with a parameter; Jest's specs return Promises.
const test = (title: string, body?: Body) =>
  mocha.it(
    title,
    body &&
      function (this: Runnable) {
        if (stryker()?.activeMutant !== undefined) this.timeout(MUTANT_TIMEOUT);
        return body();
      },
  );
const suite = (title: string, body: Body) => mocha.describe(title, body);

const skip = (title: string, body?: Body) => mocha.it.skip(title, body);

export const it = Object.assign(test, {
  each: bind(test, false),
  skip: Object.assign(skip, { each: bind(skip, false) }),
});
export const describe = Object.assign(suite, {
  each: bind(suite, false),
  skip: (title: string, body: Body) => mocha.describe.skip(title, body),
});
export const beforeAll = (body: Body) => mocha.before(() => body());
export const afterAll = (body: Body) => mocha.after(() => body());
export const beforeEach = (body: Body) => mocha.beforeEach(() => body());
export const afterEach = (body: Body) => mocha.afterEach(() => body());
export const expect = jestExpect;

const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({
  config: { fakeTimers: {}, rootDir: process.cwd() } as never,
  global: globalThis,
});

export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  replaceProperty: mocker.replaceProperty.bind(mocker),
  restoreAllMocks: () => mocker.restoreAllMocks(),
  useFakeTimers: (options?: never) => timers.useFakeTimers(options),
  useRealTimers: () => timers.useRealTimers(),
  advanceTimersByTime: (milliseconds: number) => timers.advanceTimersByTime(milliseconds),
  advanceTimersByTimeAsync: (milliseconds: number) => timers.advanceTimersByTimeAsync(milliseconds),
  getTimerCount: () => timers.getTimerCount(),
  setTimeout: () => undefined,
};
