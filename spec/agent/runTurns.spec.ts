import { describe, expect, it } from '@jest/globals';
import {
  EMPTY,
  Observable,
  Subject,
  asyncScheduler,
  catchError,
  concat,
  defer,
  finalize,
  from,
  map,
  materialize,
  of,
  repeat,
  retry,
  scheduled,
  switchMap,
  take,
  tap,
  throwError,
} from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import { startState } from '../../lib/core/event.js';
import type { TurnMessageEvent, RunState, StreamEvent, TurnEvent } from '../../lib/core/event.js';
import { tool } from '../../lib/core/tool.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { endTurn } from '../../lib/operators/endTurn.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { runTurns } from '../../lib/agent/runTurns.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { collectGarbage } from '../support/collectGarbage.js';
import { diagram } from '../support/diagram.js';
import { countedSource, observe } from '../support/observe.js';

const start = startState([]);
const text = (value: string): Chunk => ({ type: 'text', text: value });
const turnEvent = (turn: number, last = false): TurnEvent => ({
  type: 'turn',
  turn,
  finishReason: 'stop',
  next: last ? null : { messages: [], turn, usage: {} },
});

/** A turn of one text; `last` ends the run. */
const spoken = ({ turn }: RunState, last: number): Observable<Chunk | TurnEvent> =>
  of(text(`turn ${turn + 1}`), turnEvent(turn + 1, turn + 1 === last));

describe('runTurns', () => {
  it('runTurns fails for a value that is not an event', () => {
    const { values, error } = observe(runTurns(() => from([text('a'), null as never]), start));
    expect(values).toEqual([text('a')]);
    expect(error).toBeInstanceOf(TypeError);
  });

  it('runTurns starts a turn from the state that the previous turn returned, after that turn', () =>
    diagram('runTurns', ({ turn1, turn2 }: Streams<'turn1' | 'turn2'>) =>
      runTurns((state) => (state.turn === 0 ? turn1 : turn2), start),
    ));

  it('runTurns starts no turn after the n-th event of take(n)', () =>
    diagram('runTurns.take', ({ turn1, turn2 }: Streams<'turn1' | 'turn2'>) =>
      runTurns((state) => (state.turn === 0 ? turn1 : turn2), start).pipe(take(2)),
    ));

  it.each([1, 2, 3, 4, 5, 6])('runTurns starts only the turns from which take(%i) takes an event', (n) => {
    let started = 0;
    const { values } = observe(runTurns((state) => (started++, spoken(state, 99)), start).pipe(take(n)));
    expect(values).toHaveLength(n);
    expect(started).toBe(Math.ceil(n / 2));
  });

  it('runTurns is cold, and starts a new run for each subscriber, repeat and retry', () => {
    let started = 0;
    const run = runTurns((state) => (started++, spoken(state, 2)), start);
    expect(started).toBe(0);
    const first = observe(run).values;
    expect(first).toHaveLength(4);
    expect(observe(run).values).toEqual(first);
    expect(observe(run.pipe(repeat(2))).values).toEqual([...first, ...first]);
    expect(started).toBe(8);

    let attempt = 0;
    const flaky = runTurns(
      (state) => (state.turn === 1 && attempt++ === 0 ? throwError(() => new Error('once')) : spoken(state, 2)),
      start,
    );
    expect(observe(flaky.pipe(retry(1))).values).toEqual([...first.slice(0, 2), ...first]);
  });

  it('runTurns starts no turn for take(0)', () => {
    let started = 0;
    observe(runTurns((state) => (started++, spoken(state, 1)), start).pipe(take(0)));
    expect(started).toBe(0);
  });

  it('runTurns pulls one value of a synchronous turn under take(1)', () => {
    const { count, source } = countedSource(() => text('a'));
    observe(runTurns(() => source, start).pipe(take(1)));
    expect(count).toEqual({ pulled: 1, subscribed: 1, torndown: 1 });
  });

  it('runTurns unsubscribes from the turn when it is unsubscribed', () => {
    const turn = new Subject<StreamEvent>();
    const { subscription } = observe(runTurns(() => turn, start));
    expect(turn.observed).toBe(true);
    subscription.unsubscribe();
    expect(turn.observed).toBe(false);
  });

  it.each([
    [
      'that throws',
      () => {
        throw new Error('no turn');
      },
    ],
    ['that errors', () => throwError(() => new Error('no turn'))],
  ])(
    'runTurns reports the error of a second turn %s, after the events of the first',
    (_, failing: () => Observable<Chunk | TurnEvent>) => {
      const { values, error } = observe(runTurns((state) => (state.turn === 0 ? spoken(state, 2) : failing()), start));
      expect(values).toHaveLength(2);
      expect(error).toEqual(new Error('no turn'));
    },
  );

  it('runTurns emits no turn event for a turn that fails after it', () => {
    const { values } = observe(
      runTurns(
        () =>
          concat(
            of(turnEvent(1)),
            throwError(() => new Error('late')),
          ),
        start,
      ),
    );
    expect(values).toEqual([]);
  });

  it.each<[string, Observable<Chunk | TurnEvent>]>([
    ['that is empty', EMPTY],
    ['that emits text only', of(text('a'))],
  ])('runTurns reports a turn without a turn event as interrupted (a turn %s)', (_, turn) => {
    const { completed, error } = observe(runTurns(() => turn, start, { provider: 'mine' }));
    expect(completed).toBe(false);
    expect(error).toMatchObject({ code: 'stream_interrupted', provider: 'mine', retryable: true });
  });

  describe('runTurns tears down a turn before it emits the turn event and starts the next turn', () => {
    const log: string[] = [];
    const noted = (n: number) => (source: Observable<Chunk | TurnMessageEvent | TurnEvent>) =>
      new Observable<Chunk | TurnMessageEvent | TurnEvent>((out) => {
        log.push(`open ${n}`);
        const inner = source.subscribe(out);
        return () => {
          inner.unsubscribe();
          log.push(`closed ${n}`);
        };
      });
    const expected = ['open 1', 'closed 1', 'turn 1', 'open 2', 'closed 2', 'turn 2'];
    const run = (turn: (state: RunState) => Observable<Chunk | TurnMessageEvent | TurnEvent>) => {
      log.length = 0;
      return new Promise<string[]>((resolve, reject) =>
        runTurns(turn, start).subscribe({
          next: (event) => event.type === 'turn' && log.push(`turn ${event.turn}`),
          error: reject,
          complete: () => resolve(log),
        }),
      );
    };

    it('if the turn is synchronous', async () => {
      expect(await run((state) => spoken(state, 2).pipe(noted(state.turn + 1)))).toEqual(expected);
    });

    it('if the turn is asynchronous', async () => {
      const later = (state: RunState) =>
        scheduled([text('a'), turnEvent(state.turn + 1, state.turn === 1)], asyncScheduler);
      expect(await run((state) => later(state).pipe(noted(state.turn + 1)))).toEqual(expected);
    });

    it('if the turn has all operators, and runs tools', async () => {
      const noting = tool({
        name: 'f',
        description: '',
        parameters: { type: 'object' },
        execute: () => of(1).pipe(finalize(() => log.push('tool gone'))),
      });
      const fragment: Chunk = { type: 'toolCallFragment', id: 'c1', name: 'f', arguments: '{}' };
      const seen = await run((state) => {
        const chunks: Chunk[] = state.turn === 0 ? [fragment] : [text('done')];
        return scheduled<Chunk>([...chunks, { type: 'finish', reason: 'stop' }], asyncScheduler).pipe(
          (source) => source.pipe(noted(state.turn + 1)) as Observable<Chunk>,
          accumulateToolCalls(),
          consolidate(),
          executeTools([noting]),
          endTurn(state),
        ) as Observable<Chunk | TurnMessageEvent | TurnEvent>;
      });
      expect(seen).toEqual(['open 1', 'closed 1', 'tool gone', 'turn 1', 'open 2', 'closed 2', 'turn 2']);
    });
  });

  describe('runTurns closes sources that a turn subscribes later before the next request', () => {
    /** A model whose first attempt fails after the subscription, and whose second attempt then completes. */
    const flaky = (log: string[], attempts: Subject<Chunk>[]) =>
      defer(() => {
        const n = attempts.push(new Subject());
        log.push(`open ${n}`);
        return attempts.at(-1)?.pipe(finalize(() => log.push(`close ${n}`))) ?? EMPTY;
      });

    it('with retry, after the teardown of its span', () => {
      const log: string[] = [];
      const attempts: Subject<Chunk>[] = [];
      const turn = (state: RunState) =>
        flaky(log, attempts).pipe(
          finalize(() => log.push('end of span')),
          retry(1),
          endTurn(state),
          map((event) => (event.type === 'turn' ? turnEvent(event.turn, event.turn === 2) : event)),
        );
      runTurns(turn, start).subscribe();
      attempts[0]?.error(new Error('reset'));
      attempts[1]?.next({ type: 'finish', reason: 'stop' });
      attempts[1]?.complete();
      expect(log).toEqual(['open 1', 'close 1', 'end of span', 'open 2', 'close 2', 'end of span', 'open 3']);
    });

    it.each<[string, (again: Observable<Chunk>) => MonoTypeOperatorFunction<Chunk>]>([
      ['retry', () => retry(1)],
      ['catchError', (again) => catchError(() => again)],
      [
        'switchMap',
        (again) => (source) =>
          source.pipe(
            materialize(),
            switchMap(() => again),
          ),
      ],
    ])('with %s before executeTools: the connection is closed before a tool runs', (_, recover) => {
      const log: string[] = [];
      const attempts: Subject<Chunk>[] = [];
      const noting = tool({ name: 'f', description: '', execute: () => log.push('tool') });
      const source = flaky(log, attempts);
      const turn = source.pipe(recover(source), accumulateToolCalls(), consolidate(), executeTools([noting]));
      turn.subscribe();
      attempts[0]?.error(new Error('reset'));
      attempts[1]?.next({ type: 'toolCallFragment', id: 'c1', name: 'f', arguments: '{}' });
      attempts[1]?.next({ type: 'finish', reason: 'stop' });
      attempts[1]?.complete();
      expect(log.slice(-2)).toEqual(['close 2', 'tool']);
    });
  });

  describe('maxTurns', () => {
    it('ends a run after 20 turns by default', () => {
      const { values } = observe(runTurns((state) => of(turnEvent(state.turn + 1)), start));
      expect(values).toHaveLength(20);
      expect(values.at(-1)).toEqual({ ...turnEvent(20), finishReason: 'maxTurns', next: null });
    });

    it('counts the turns before the start of a resumed run', () => {
      const { values } = observe(
        runTurns((state) => of(turnEvent(state.turn + 1)), { ...start, turn: 3 }, { maxTurns: 5 }),
      );
      expect(values.map(({ turn }) => turn)).toEqual([4, 5]);
    });

    it('is reported to the last turn, and to no other', () => {
      const lasts: boolean[] = [];
      const turn = (state: RunState, { last }: { last: boolean }) => {
        lasts.push(last);
        return of(turnEvent(state.turn + 1));
      };
      observe(runTurns(turn, start, { maxTurns: 3 }));
      expect(lasts).toEqual([false, false, true]);
    });

    it('keeps the finish reason of a last turn that ends the run itself', () => {
      const { values } = observe(runTurns((state) => of(turnEvent(state.turn + 1, true)), start, { maxTurns: 1 }));
      expect(values).toEqual([turnEvent(1, true)]);
    });

    it.each([0, 2])('makes no request when the run starts at the limit (%i)', (maxTurns) => {
      let started = 0;
      const { values, completed } = observe(
        runTurns(() => (started++, of(turnEvent(1))), { ...start, turn: maxTurns }, { maxTurns }),
      );
      expect(values).toEqual([{ type: 'turn', turn: maxTurns, finishReason: 'maxTurns', next: null }]);
      expect([completed, started]).toEqual([true, 0]);
    });

    it.each([NaN, -1])('of %p is a configuration error before any request', (maxTurns) => {
      let started = 0;
      const { error } = observe(runTurns(() => (started++, of(turnEvent(1))), start, { maxTurns }));
      expect(error).toMatchObject({
        code: 'configuration',
        subject: 'options',
        message: expect.stringContaining(`maxTurns is ${maxTurns}.`),
      });
      expect(started).toBe(0);
    });
  });

  it('runTurns continues a synchronous run that starts in a handler of another run when that handler has returned', () => {
    const log: string[] = [];
    runTurns((state) => spoken(state, 2), start).subscribe((outer) => {
      log.push(`outer ${outer.type}`);
      if (outer.type !== 'text' || outer.text !== 'turn 2') return;
      observe(runTurns((state) => spoken(state, 2), start).pipe(tap((inner) => log.push(`inner ${inner.type}`))));
      log.push('handler returns');
    });
    const turn = (run: string) => [`${run} text`, `${run} turn`];
    expect(log).toEqual([
      ...[...turn('outer'), 'outer text', ...turn('inner'), 'handler returns', 'outer turn'],
      ...turn('inner'),
    ]);
  });

  it('runTurns does not nest synchronous turns', () => {
    const depths: number[] = [];
    const turn = (state: RunState) => {
      const limit = Error.stackTraceLimit;
      Error.stackTraceLimit = 1000;
      depths.push(new Error('depth').stack?.split('\n').length ?? 0);
      Error.stackTraceLimit = limit;
      return spoken(state, 30);
    };
    observe(runTurns(turn, start, { maxTurns: Infinity }));
    expect(depths).toHaveLength(30);
    expect(depths.at(-1)).toBe(depths[5]);
  });

  it('runTurns holds no turn that has ended', async () => {
    const turns: WeakRef<Observable<StreamEvent>>[] = [];
    const open = new Subject<StreamEvent>();
    const turn = (state: RunState): Observable<StreamEvent> => {
      const events: Observable<StreamEvent> = state.turn === 50 ? open : scheduled(spoken(state, 99), asyncScheduler);
      turns.push(new WeakRef(events));
      return events;
    };
    await new Promise<void>((resolve) => {
      runTurns(turn, start, { maxTurns: Infinity }).subscribe((event) => {
        if (event.type === 'turn' && (event as TurnEvent).turn === 50) setTimeout(resolve);
      });
    });
    expect(open.observed).toBe(true);
    collectGarbage();
    expect(turns).toHaveLength(51);
    expect(turns.filter((ended) => ended.deref()).length).toBeLessThan(5);
  });

  it('runTurns runs 10,000 synchronous turns', () => {
    let last: StreamEvent | undefined;
    let events = 0;
    runTurns((state) => spoken(state, 10_000), start, { maxTurns: Infinity }).subscribe((event) => {
      events++;
      last = event;
    });
    expect(events).toBe(20_000);
    expect(last).toMatchObject({ turn: 10_000, next: null });
  });

  it('runTurns keeps no subscription to a turn that has ended', () => {
    let open = 0;
    const turn = (state: RunState) => {
      open++;
      return spoken(state, 1000).pipe(finalize(() => open--));
    };
    const { values } = observe(runTurns(turn, start, { maxTurns: Infinity }));
    expect(values).toHaveLength(2000);
    expect(open).toBe(0);
  });

  it('runTurns forwards custom events with their types', () => {
    interface Mine extends StreamEvent {
      readonly type: 'mine';
      readonly n: number;
    }
    const run: Observable<Mine | TurnEvent> = runTurns(
      (state) => of<(Mine | TurnEvent)[]>({ type: 'mine', n: state.turn }, turnEvent(1, true)),
      start,
    );
    expect(observe(run).values[0]).toEqual({ type: 'mine', n: 0 });
  });
});
