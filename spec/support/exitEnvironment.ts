import { TestEnvironment } from 'jest-environment-node';

// Jest ends a worker by force if a timer or a socket keeps it alive after its last spec, and does not say which spec
// left it. This environment fails that spec, if Jest runs it in a worker: a process of Jest's own has timers that begin
// and end meanwhile.

/** How long timers and sockets may take to end after the last test of a file, in milliseconds. */
const PATIENCE = 2000;

const kinds = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap'] as const;

/** How many timers, sockets and servers keep the process alive. */
const countResources = (): number[] => {
  const all = process.getActiveResourcesInfo();
  return kinds.map((kind) => all.filter((name) => name === kind).length);
};

export default class ExitEnvironment extends TestEnvironment {
  private readonly path: string;
  private before: readonly number[] = [];

  constructor(...args: ConstructorParameters<typeof TestEnvironment>) {
    super(...args);
    this.path = args[1].testPath;
  }

  override async setup(): Promise<void> {
    this.before = countResources();
    await super.setup();
  }

  override async teardown(): Promise<void> {
    await super.teardown();
    const end = performance.now() + PATIENCE;
    while (this.left().length > 0 && performance.now() < end) await new Promise((resolve) => setImmediate(resolve));
    const left = this.left();
    if (left.length === 0) return;
    throw new Error(
      `${this.path} leaves ${left.join(', ')}, which keep the process alive. ` +
        'Unsubscribe, close servers and sockets, and shut handlers down in `afterEach`.',
    );
  }

  /** What the file began and did not end. */
  private left(): string[] {
    return countResources().flatMap((count, index) => {
      const more = count - (this.before[index] ?? 0);
      return more > 0 ? [`${more} ${kinds[index]}`] : [];
    });
  }
}
