import { createRequire } from 'node:module';
import type { JestEnvironment } from '@jest/environment';
import type { TestResult } from '@jest/test-result';
import type { Circus, Config } from '@jest/types';
import { formatExecError, formatResultsErrors } from 'jest-message-util';
// eslint-disable-next-line @typescript-eslint/no-require-imports -- its types describe a CommonJS module
import type jestRuntime = require('jest-runtime');

type Framework = (...args: readonly unknown[]) => Promise<TestResult>;
const { default: circus } = createRequire(import.meta.url)('jest-circus/runner') as { readonly default: Framework };

/** The files of each suite, by its first one. */
export type Suites = Record<string, readonly string[]>;

type Runtime = jestRuntime.default;

/** A file of a suite. */
interface SpecFile {
  readonly path: string;
  /** What the file declares. */
  readonly block: Circus.DescribeBlock;
  start: number;
  end: number;
  console?: NonNullable<TestResult['console']>;
  /** Why the file fails besides its tests: an exception while it was loaded, or what it has left behind. */
  problem?: Error;
}

/** The console of an environment, if Jest prints what it receives with the results. */
interface Printed {
  getBuffer(): NonNullable<TestResult['console']> | undefined;
}

/** What the files of a suite share. */
interface Suite {
  readonly config: Config.ProjectConfig;
  readonly globalConfig: Config.GlobalConfig;
  readonly environment: JestEnvironment;
  readonly runtime: Runtime;
  /** The first file, which gives the suite its name. */
  readonly testPath: string;
  readonly files: SpecFile[];
  root?: Circus.DescribeBlock;
}

/**
 * The test framework of the fast specs: runs the files of a suite as one run of jest-circus, so that they share one graph
 * of modules. Each file is a block, so that its hooks are for its tests only. `suiteRunner.ts` passes the suites.
 */
export default async function suiteFramework(
  globalConfig: Config.GlobalConfig & { readonly suites?: Suites },
  config: Config.ProjectConfig,
  environment: JestEnvironment,
  runtime: Runtime,
  testPath: string,
  sendMessageToJest: unknown,
): Promise<TestResult & { readonly files: readonly TestResult[] }> {
  const suite: Suite = { config, globalConfig, environment, runtime, testPath, files: [] };
  const resources = watchResources();
  environment.handleTestEvent = watchFiles(suite);

  const load = runtime.unstable_importModule.bind(runtime);
  runtime.unstable_importModule = async (path, name) => {
    if (path !== testPath || name !== undefined) return load(path, name);
    for (const file of globalConfig.suites?.[testPath] ?? [testPath]) await declare(suite, file, () => load(file));
  };
  const result = await circus(globalConfig, config, environment, runtime, testPath, sendMessageToJest);

  const first = suite.files.at(0);
  const left = suite.files.some(({ problem }) => problem) ? [] : await resources();
  if (left.length > 0 && first)
    first.problem = problemOf(
      `A file leaves ${left.join(', ')}, while it is loaded: ${suite.files.map(({ path }) => path).join(', ')}`,
    );
  return { ...result, files: resultsOf(suite, result) };
}

/** Loads a file, and moves what it declares from the root to a block of its own. */
async function declare({ files, root }: Suite, path: string, load: () => Promise<unknown>): Promise<void> {
  if (!root) throw new Error('The files of a suite are loaded after the setup of jest-circus.');
  const block: Circus.DescribeBlock = { ...root, children: [], hooks: [], name: '', parent: root };
  const file: SpecFile = { path, block, start: 0, end: 0 };
  await load().catch((error: unknown) => {
    file.problem = error instanceof Error || isErrorLike(error) ? error : new Error(String(error));
  });
  // Every block that was there is the block of a file.
  block.children.push(...root.children.splice(files.length));
  block.hooks.push(...root.hooks.splice(0));
  for (const part of [...block.children, ...block.hooks]) part.parent = block;
  files.push(file);
  root.children.push(block);
}

/** An error without a stack: nobody looks for its reason here. */
const problemOf = (message: string): Error => Object.assign(new Error(message), { stack: message });

/** An exception of a spec is an `Error` of another realm. */
const isErrorLike = (value: unknown): value is Error => typeof value === 'object' && value !== null && 'stack' in value;

/** Observes the events of jest-circus: a file leaves nothing behind that changes or outlives the next one. */
function watchFiles(suite: Suite): (event: Circus.Event | Circus.AsyncEvent, state: Circus.State) => Promise<void> {
  const { environment, runtime, files } = suite;
  const output = () => (environment.global.console as Partial<Printed>).getBuffer?.() ?? [];
  const mayChangeVariables = suite.testPath.endsWith('.alone.spec.ts'); // `suiteRunner.ts` runs it alone
  let resources = watchResources();
  let variables = watchVariables(environment);
  let printed = 0;
  return async (event, state) => {
    suite.root = state.rootDescribeBlock;
    if (event.name === 'setup' && state.testNamePattern) state.testNamePattern = belowBlock(state.testNamePattern);
    const file = 'describeBlock' in event ? files.find(({ block }) => block === event.describeBlock) : undefined;
    if (!file) return;
    if (event.name === 'run_describe_start') {
      file.start = Date.now();
      printed = output().length;
      resources = watchResources();
      variables = watchVariables(environment);
    } else if (event.name === 'run_describe_finish') {
      runtime.restoreAllMocks();
      environment.fakeTimersModern?.useRealTimers();
      const left = [...(await resources()), ...(mayChangeVariables ? [] : variables())].join(', ');
      if (left) file.problem ??= problemOf(`${file.path} leaves ${left}. Undo it in \`afterEach\` or \`afterAll\`.`);
      file.console = output().slice(printed);
      file.end = Date.now();
    }
  };
}

/** Jest compares the pattern with the titles of the blocks, joined by spaces: the block of a file has an empty one. */
const belowBlock = ({ source, flags }: RegExp) => new RegExp(source.replace(/^\^/, '^ '), flags);

/** How long timers and sockets may take to end after the last test of a file, in milliseconds. */
const PATIENCE = 2000;

/** Returns a function that says what keeps the process alive and did not before: timers, sockets, servers, processes. */
function watchResources(): () => Promise<string[]> {
  const before = countResources();
  const left = () =>
    [...countResources()].flatMap(([kind, count]) => {
      const more = count - (before.get(kind) ?? 0);
      return more > 0 ? [`${more} ${kind}`] : [];
    });
  return async () => {
    const end = performance.now() + PATIENCE;
    while (left().length > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve));
    return left();
  };
}

/** By kind. The standard output of a worker is a pipe that is opened when it is first used. */
function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo())
    if (kind !== 'PipeWrap') counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Returns a function that says which variables have changed. New ones, of modules that were loaded, do not count. */
function watchVariables({ global }: JestEnvironment): () => string[] {
  const variables = Object.entries(Object.getOwnPropertyDescriptors(global));
  const valueOf = (name: string): unknown => Object.getOwnPropertyDescriptor(global, name)?.value;
  const settings = { ...global.process.env };
  return () => [
    ...variables
      .filter(([name, before]) => 'value' in before && !Object.is(valueOf(name), before.value))
      .map(([name]) => `a changed globalThis.${name}`),
    ...[...new Set([...Object.keys(settings), ...Object.keys(global.process.env)])]
      .filter((name) => settings[name] !== global.process.env[name])
      .map((name) => `a changed process.env.${name}`),
  ];
}

/** The result of each file. The tests of the suite are in the order of the blocks. */
function resultsOf({ root, files, config, globalConfig }: Suite, result: TestResult): TestResult[] {
  const tests = [...result.testResults];
  const inOrder = (root?.children ?? []).flatMap((child) => files.find(({ block }) => block === child) ?? []);
  return inOrder.map(({ path, block, start, end, console = [], problem }) => {
    const testResults = tests
      .splice(0, countTests(block))
      .map((test) => ({ ...test, ancestorTitles: test.ancestorTitles.slice(1), fullName: test.fullName.slice(1) }));
    const count = (wanted: string) => testResults.filter(({ status }) => status === wanted).length;
    const messages = [
      formatResultsErrors(testResults, config, globalConfig, path),
      problem && formatExecError(problem, config, globalConfig, path),
    ].filter(Boolean);
    return {
      ...result,
      testFilePath: path,
      testResults,
      ...(console.length > 0 && { console }),
      numPassingTests: count('passed'),
      numFailingTests: count('failed'),
      numPendingTests: count('pending'),
      numTodoTests: count('todo'),
      skipped: count('pending') === testResults.length,
      failureMessage: messages.length > 0 ? messages.join('\n') : null,
      ...(problem && {
        testExecError: { code: undefined, message: problem.message, stack: problem.stack, type: problem.name },
      }),
      perfStats: {
        ...result.perfStats,
        start,
        end,
        runtime: end - start,
        slow: end - start > 1000 * config.slowTestThreshold,
      },
    };
  });
}

const countTests = (block: Circus.DescribeBlock): number =>
  block.children.reduce((sum, child) => sum + (child.type === 'test' ? 1 : countTests(child)), 0);
