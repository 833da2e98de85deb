import { describe, expect, it } from '@jest/globals';
import { NEVER, concat, delay, map, of, switchMap, take, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import { isToolStart } from '../../lib/core/eventGuards.js';
import { startState } from '../../lib/core/event.js';
import { tool } from '../../lib/core/tool.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { observeRun } from '../../lib/operators/observeRun.js';
import type { RunObserver } from '../../lib/operators/runObserver.js';
import { inVirtualTime, operatorContract, playMarbles, scriptedModel, toolCall } from '../../lib/testing/index.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';

const names = [
  ...['runStart', 'turnStart', 'requestStart', 'requestEnd', 'toolStart', 'toolEnd'],
  ...['retry', 'retract', 'turnEnd', 'runEnd'],
] as const;

/** An observer that notes each call: its name and what the spec wants to see of it. */
function noting(show: (name: string, data: Record<string, unknown>) => string = (name) => name) {
  const notes: string[] = [];
  const note =
    (name: string) =>
    (data: object = {}) =>
      void notes.push(show(name, data as Record<string, unknown>));
  return { notes, observer: Object.fromEntries(names.map((name) => [name, note(name)])) as RunObserver };
}

const brief = (name: string, { turn, duration, outcome, timeToFirstChunk, id, attempt }: Record<string, unknown>) =>
  [name, turn, id ?? attempt, outcome, typeof duration === 'number' && `${duration} ms`, timeToFirstChunk]
    .filter((part) => part !== undefined && part !== false)
    .join(' ');

/** Observes a run in virtual time. */
function observed(options: AgentOptions, through: (events: Observable<RunEvent>) => Observable<unknown> = (e) => e) {
  const { notes, observer } = noting(brief);
  return new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ flush }) => {
    const seen = observe(through(createAgent(options).stream('Go.').pipe(observeRun(observer))));
    flush();
    return { notes, error: seen.error };
  });
}
const load = tool({ name: 'load', description: 'Loads.', execute: () => timer(30).pipe(map(() => 'loaded')) });
const hang = tool({ name: 'hang', description: 'Never ends.', execute: () => NEVER });

describe('observeRun', () => {
  it('observeRun passes the events through', () => diagram('observeRun', ({ source }) => source.pipe(observeRun({}))));

  it.each(operatorContract(observeRun({}), { source: [{ type: 'text' }, { type: 'turn' }] }))(
    'observeRun $title',
    ({ run }) => run(),
  );

  it('observeRun reports each start and each end, with virtual durations', () => {
    const model = scriptedModel([
      [{ delay: 5 }, 'Hm.', { delay: 5 }, toolCall('load')],
      [{ delay: 7 }, 'Done.'],
    ]);
    expect(observed({ model, tools: [load] }).notes).toEqual([
      'runStart',
      'turnStart 1',
      'requestStart 1',
      'requestEnd 1 completed 10 ms 5',
      'toolStart 1 call_1_1',
      'toolEnd 1 call_1_1 completed 30 ms',
      'turnEnd 1 completed 40 ms',
      'turnStart 2',
      'requestStart 2',
      'requestEnd 2 completed 7 ms 7',
      'turnEnd 2 completed 7 ms',
      'runEnd completed 47 ms',
    ]);
  });

  it('observeRun reports parallel tools, and eager ones within their request', () => {
    const model = () => scriptedModel([[toolCall('load'), { delay: 10 }, toolCall('load', { again: true })], 'Done.']);
    const tools = (options: object) =>
      observed({ model: model(), tools: [load], toolConcurrency: 2, ...options }).notes.slice(3, 8);
    expect(tools({})).toEqual([
      'requestEnd 1 completed 10 ms 0',
      'toolStart 1 call_1_1',
      'toolStart 1 call_1_2',
      'toolEnd 1 call_1_1 completed 30 ms',
      'toolEnd 1 call_1_2 completed 30 ms',
    ]);
    // The second call has arrived with the end of the response.
    expect(tools({ eagerTools: true })).toEqual([
      'toolStart 1 call_1_1',
      'requestEnd 1 completed 10 ms 0',
      'toolStart 1 call_1_2',
      'toolEnd 1 call_1_1 completed 30 ms',
      'toolEnd 1 call_1_2 completed 30 ms',
    ]);
  });

  it('observeRun ends what is open when the run fails: first the tools, last the run', () => {
    const options = { model: scriptedModel([[toolCall('hang')]]), tools: [hang], timeout: { run: 50 } };
    const { notes, error } = observed(options);
    expect(error).toMatchObject({ code: 'timeout' });
    expect(notes.slice(-3)).toEqual([
      'toolEnd 1 call_1_1 failed 50 ms',
      'turnEnd 1 failed 50 ms',
      'runEnd failed 50 ms',
    ]);
  });

  it.each([
    ['in a request', ['a', { delay: 9 }, 'b'], ['requestEnd 1 unsubscribed 4 ms 0']],
    ['in a tool', [toolCall('hang')], ['toolEnd 1 call_1_1 unsubscribed 4 ms']],
  ])('observeRun ends what is open when the run is left %s', (_, response, open) => {
    const { notes, observer } = noting(brief);
    const model = scriptedModel([response]);
    new TestScheduler(() => undefined).run(({ flush }) => {
      const { subscription } = observe(
        createAgent({ model, tools: [hang] })
          .stream('Go.')
          .pipe(observeRun(observer)),
      );
      timer(4).subscribe(() => subscription.unsubscribe());
      flush();
    });
    expect(notes.slice(-3)).toEqual([...open, 'turnEnd 1 unsubscribed 4 ms', 'runEnd unsubscribed 4 ms']);
    expect(notes.filter((note) => note.startsWith('runEnd'))).toHaveLength(1);
  });

  it('observeRun reports a run as completed that is left at its result', () => {
    const { notes, observer } = noting(brief);
    const events = createAgent({ model: scriptedModel(['Hi.']) })
      .stream('Go.')
      .pipe(observeRun(observer));
    observe(events.pipe(take(4)));
    expect(notes.at(-1)).toMatch(/^runEnd completed/);
  });

  it('observeRun under take(1) ends all, and reports nothing after it', () => {
    const { notes, observer } = noting();
    observe(
      createAgent({ model: scriptedModel(['Hi.']) })
        .stream('Go.')
        .pipe(observeRun(observer), take(1)),
    );
    expect(notes).toEqual(['runStart', 'turnStart', 'requestStart', 'requestEnd', 'turnEnd', 'runEnd']);
  });

  it('observeRun reports retries, retracts and the tools that a retract cancels', () => {
    const broken = concat(
      of<Chunk>(toolCall('hang', {}, 'c1')),
      timer(3).pipe(map((): Chunk => ({ type: 'text', text: 'Hm.' }))),
      throwError(() => Object.assign(new Error('reset'), { retryable: true })),
    );
    const model = retryModel(scriptedModel([broken, 'Done.']), { delay: 20 });
    expect(observed({ model, tools: [hang], eagerTools: true }).notes).toEqual([
      'runStart',
      'turnStart 1',
      'requestStart 1',
      'toolStart 1 c1',
      'toolEnd 1 c1 unsubscribed 3 ms',
      'retract 1',
      'retry 1 1',
      'requestEnd 1 completed 23 ms 0',
      'turnEnd 1 completed 23 ms',
      'runEnd completed 23 ms',
    ]);
  });

  it.each<Chunk>([
    { type: 'text', text: 'a' },
    { type: 'thinking', text: 'hm' },
    { type: 'toolCallFragment', index: 0, name: 'load' },
    { type: 'file', file: { type: 'file', mediaType: 'image/png', data: '' } },
    { type: 'source', source: { type: 'source', url: 'https://example.org' } },
  ])('observeRun measures the time to the first chunk of a request: $type', (chunk) => {
    const { notes, observer } = noting(brief);
    const message: StreamEvent = { type: 'message' };
    inVirtualTime(() =>
      timer(20).pipe(
        switchMap(() =>
          playMarbles<StreamEvent>('5ms a 3ms b|', { a: [chunk], b: [message] }).pipe(observeRun(observer)),
        ),
      ),
    );
    expect(notes.slice(3)).toEqual([
      'requestEnd 1 completed 9 ms 5',
      'turnEnd 1 completed 10 ms',
      'runEnd completed 10 ms',
    ]);
  });

  it('observeRun reports no time to the first chunk of a request without content', () => {
    const { notes, observer } = noting((name, data) => `${name} ${'timeToFirstChunk' in data}`);
    observe(of<StreamEvent[]>({ type: 'metadata' }, { type: 'message' }).pipe(observeRun(observer)));
    expect(notes).toContain('requestEnd false');
  });

  it('observeRun reports no turn of a resumed run that has ended', () => {
    const { notes, observer } = noting();
    const agent = createAgent({ model: scriptedModel(['Hi.']) });
    const checkpoints = observe(agent.stream('Go.', { checkpoints: true })).values.flatMap((event) =>
      event.type === 'turn' && event.checkpoint ? [event.checkpoint] : [],
    );
    const last = checkpoints.at(-1);
    expect(last?.ended).toBeDefined();
    observe(agent.resume(last!).pipe(observeRun(observer, last)));
    expect(notes).toEqual(['runStart', 'runEnd']);
  });

  it('observeRun reports no start and no end of a call that is not executed', () => {
    const { notes } = observed({ model: scriptedModel([[toolCall('unknown')], 'Done.']), tools: [load] });
    expect(notes.filter((note) => note.startsWith('tool'))).toEqual([]);
  });

  it('observeRun reports the event, the result and the error that ended something', () => {
    const failing = tool({
      name: 'load',
      description: 'Fails.',
      execute() {
        throw new Error('no disk');
      },
    });
    const seen: unknown[] = [];
    const see = (end: object) => void seen.push(end);
    const model = scriptedModel([[toolCall('load')], 'Done.']);
    const agent = createAgent({ model, tools: [failing] });
    observe(agent.stream('Go.').pipe(observeRun({ toolEnd: see, turnEnd: see, runEnd: see })));
    expect(seen).toMatchObject([
      { name: 'load', outcome: 'completed', event: { code: 'failed', error: 'no disk' } },
      { turn: 1, event: { type: 'turn', finishReason: 'toolCalls' } },
      { turn: 2, event: { type: 'turn', finishReason: 'stop' } },
      { outcome: 'completed', result: { text: 'Done.', turns: 2 } },
    ]);
  });

  it('observeRun counts the turns of a resumed run, and reports no request for its open calls', () => {
    const ask = tool({ name: 'ask', description: 'Asks.' });
    const agent = createAgent({ model: scriptedModel([[toolCall('ask')], 'Done.']), tools: [ask] });
    const waiting = observe(agent.run('Go.')).values[0];
    expect(waiting?.finishReason).toBe('waiting');
    const checkpoint = waiting!.checkpoint!;
    const { notes, observer } = noting((name, { turn }) => [name, turn].join(' ').trim());
    observe(agent.resume(checkpoint, { results: { call_1_1: 'yes' } }).pipe(observeRun(observer, checkpoint)));
    expect(notes).toEqual([
      ...['runStart', 'turnStart 1', 'turnEnd 1'],
      ...['turnStart 2', 'requestStart 2', 'requestEnd 2', 'turnEnd 2', 'runEnd'],
    ]);
  });

  it('observeRun ends a turn whose calls wait without its event', () => {
    const ask = tool({ name: 'ask', description: 'Asks.' });
    const ends: unknown[] = [];
    const agent = createAgent({ model: scriptedModel([[toolCall('ask')]]), tools: [ask] });
    observe(agent.stream('Go.').pipe(observeRun({ turnEnd: (end) => void ends.push(end) })));
    expect(ends).toEqual([{ turn: 1, outcome: 'completed', duration: expect.any(Number) }]);
  });

  it('observeRun starts a turn at once with checkpoints and with `next`, and late after a copy of `turn`', () => {
    const script = () => scriptedModel([[toolCall('load')], [{ delay: 8 }, 'Done.']]);
    const requests = (events: Observable<RunEvent>) => {
      const { notes, observer } = noting(brief);
      return new TestScheduler(() => undefined).run(({ flush }) => {
        observe(events.pipe(observeRun(observer)));
        flush();
        return notes.filter((note) => note.startsWith('requestEnd 2'));
      });
    };
    const stream = (checkpoints = false) =>
      createAgent({ model: script(), tools: [load] }).stream('Go.', { checkpoints });
    expect(requests(stream())).toEqual(['requestEnd 2 completed 8 ms 8']);
    expect(requests(stream(true))).toEqual(['requestEnd 2 completed 8 ms 8']);
    expect(requests(stream().pipe(map((event) => ({ ...event }))))).toEqual(['requestEnd 2 completed 0 ms 0']);
    const turns = of<RunEvent>({ type: 'turn', turn: 1, finishReason: 'stop', next: startState([]) }).pipe((turn) =>
      concat(turn, of<RunEvent>({ type: 'text', text: 'b' }).pipe(delay(8))),
    );
    expect(requests(turns)).toEqual(['requestEnd 2 completed 8 ms 8']);
  });

  it.each(names)('observeRun reports an exception of %s as the error of the run, and unsubscribes it', (name) => {
    const failure = new Error(`${name} failed`);
    const broken = concat(
      of<Chunk>({ type: 'text', text: 'a' }),
      throwError(() => Object.assign(new Error('reset'), { retryable: true })),
    );
    const model = retryModel(scriptedModel([[toolCall('load')], broken, 'Done.']), { delay: 1 });
    const { notes, observer } = noting(brief);
    const throwing: RunObserver = {
      ...observer,
      [name]: () => {
        throw failure;
      },
    };
    new TestScheduler(() => undefined).run(({ flush }) => {
      const seen = observe(
        createAgent({ model, tools: [load] })
          .stream('Go.')
          .pipe(observeRun(throwing)),
      );
      flush();
      expect(seen.error).toBe(failure);
      expect(seen.closed()).toBe(true);
    });
    if (name !== 'runEnd') expect(notes.at(-1)).toMatch(/^runEnd failed/);
  });

  it('observeRun reports nothing after a handler has unsubscribed the run', () => {
    const { notes, observer } = noting();
    const events = createAgent({ model: scriptedModel([[toolCall('load')], 'Done.']), tools: [load] }).stream('Go.');
    const subscription = events.pipe(observeRun(observer)).subscribe((event) => {
      if (isToolStart(event)) queueMicrotask(() => subscription.unsubscribe());
    });
    return Promise.resolve().then(() => {
      expect(notes.slice(-3)).toEqual(['toolEnd', 'turnEnd', 'runEnd']);
      expect(notes.filter((note) => note === 'runEnd')).toHaveLength(1);
    });
  });
});
