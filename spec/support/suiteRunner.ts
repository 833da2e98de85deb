import { createHash } from 'node:crypto';
import { relative, sep } from 'node:path';
// eslint-disable-next-line @typescript-eslint/no-require-imports -- its types describe a CommonJS module
import jestRunner = require('jest-runner');
import type { Suites } from './suiteFramework.js';

type Events = jestRunner.TestEvents;
type Test = jestRunner.Test;
type TestResult = Events['test-file-success'][1];
type SuiteEvent = [Test, TestResult & { readonly files: readonly TestResult[] }];

/**
 * The runner of Jest for the fast specs: the spec files of a room run as one suite, in one environment with one graph of
 * modules (`suiteFramework.ts`). To load the library for each file took more time than its tests. Jest and its reporters
 * see the results of files, as without suites.
 */
export default class SuiteRunner extends jestRunner.default {
  /** The files of each suite, by its first one. Jest sends it to its workers with the settings of the run. */
  private readonly suites: Suites;
  /** The files of a run, by path. */
  private readonly tests = new Map<string, Test>();

  constructor(...[globalConfig, context, options]: ConstructorParameters<typeof jestRunner.default>) {
    const suites: Suites = {};
    super(Object.freeze({ ...globalConfig, suites }), context, options);
    this.suites = suites;
  }

  override runTests(
    tests: Test[],
    watcher: jestRunner.TestWatcher,
    options: jestRunner.TestRunnerOptions,
  ): Promise<void> {
    const suites = new Map<string, Test[]>();
    for (const test of this.inOrder(tests)) {
      this.tests.set(test.path, test);
      const suite = suiteOf(test);
      suites.set(suite, [...(suites.get(suite) ?? []), test]);
    }
    // The longest one first, so that no worker is idle while the other runs it.
    const longestFirst = [...suites.values()].sort((a, b) => sizeOf(b) - sizeOf(a));
    const firstFiles = longestFirst.flatMap(([first, ...others]) => {
      if (first === undefined) return [];
      this.suites[first.path] = [first, ...others].map(({ path }) => path);
      return [first];
    });
    return super.runTests(firstFiles, watcher, options);
  }

  /** Jest hears of each file of a suite, as if it had run it. */
  override on<Name extends keyof Events>(
    name: Name,
    listener: (event: Events[Name]) => void | Promise<void>,
  ): jestRunner.UnsubscribeFn {
    type EventsOf = (event: Events[keyof Events]) => readonly Events[keyof Events][];
    const listen = (to: keyof Events, eventsOf: EventsOf) =>
      super.on(to, async (event) => {
        for (const part of eventsOf(event)) await listener(part as Events[Name]);
      });
    if (name === 'test-file-start') return listen(name, (event) => this.starts(event as Events['test-file-start']));
    if (name === 'test-file-success')
      return listen(name, (event) => this.results(event as SuiteEvent).filter(([, file]) => !isUnloaded(file)));
    const stop = listen(name, (event) => [event]);
    if (name !== 'test-file-failure') return stop;
    const stopUnloaded = listen('test-file-success', (event) =>
      this.results(event as SuiteEvent)
        .filter(([, file]) => isUnloaded(file))
        .map(([test, { testExecError }]) => [test, testExecError] as Events['test-file-failure']),
    );
    return () => [stop, stopUnloaded].forEach((end) => end());
  }

  /** With `--randomize`, the files are loaded in random order too; jest-circus shuffles what they declare. */
  private inOrder(tests: readonly Test[]): readonly Test[] {
    const { randomize, seed } = this._globalConfig;
    const keyOf = ({ path }: Test) => createHash('sha1').update(`${seed} ${path}`).digest('hex');
    return randomize ? [...tests].sort((a, b) => keyOf(a).localeCompare(keyOf(b))) : tests;
  }

  private starts([{ path }]: Events['test-file-start']): Events['test-file-start'][] {
    return (this.suites[path] ?? []).flatMap((file) => {
      const test = this.tests.get(file);
      return test ? [[test]] : [];
    });
  }

  private results([, { files, console: _, ...suite }]: SuiteEvent): Events['test-file-success'][] {
    return files.flatMap((file) => {
      const test = this.tests.get(file.testFilePath);
      return test ? [[test, { ...suite, ...file, perfStats: { ...suite.perfStats, ...file.perfStats } }]] : [];
    });
  }
}

/** Whether a file failed before it had declared a test. */
const isUnloaded = ({ testExecError, testResults }: TestResult): boolean =>
  testExecError !== undefined && testResults.length === 0;

/** The suite of a file: its room, which is its folder in `spec`; or itself, if its name says that it runs alone. */
function suiteOf({ path, context: { config } }: Test): string {
  if (path.endsWith('.alone.spec.ts')) return path;
  const [room = '', ...rest] = relative(`${config.rootDir}/spec`, path).split(sep);
  return rest.length > 0 ? room : '';
}

const sizeOf = (suite: readonly Test[]): number =>
  suite.reduce((sum, { path, context }) => sum + (context.hasteFS.getSize(path) ?? 0), 0);
