import { describe, expect, it } from '@jest/globals';
import {
  EMPTY,
  Observable,
  Subject,
  asyncScheduler,
  concat,
  finalize,
  of,
  repeat,
  retry,
  scheduled,
  take,
  throwError,
} from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import { startState } from '../../lib/core/event.js';
import type { MessageEvent, RunState, StreamEvent, TurnEvent } from '../../lib/core/event.js';
import { tool } from '../../lib/core/tool.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { endTurn } from '../../lib/operators/endTurn.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { runTurns } from '../../lib/orchestrators/runTurns.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
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
  it('starts a turn where the one before says, when that is over', () =>
    diagram('runTurns', ({ turn1, turn2 }: Streams<'turn1' | 'turn2'>) =>
      runTurns((state) => (state.turn === 0 ? turn1 : turn2), start),
    ));

  it('does not start a turn of which nothing would be taken', () =>
    diagram('runTurns.take', ({ turn1, turn2 }: Streams<'turn1' | 'turn2'>) =>
      runTurns((state) => (state.turn === 0 ? turn1 : turn2), start).pipe(take(2)),
    ));

  it.each([1, 2, 3, 4, 5, 6])('starts just the turns of which take(%i) takes something', (n) => {
    let started = 0;
    const { values } = observe(runTurns((state) => (started++, spoken(state, 99)), start).pipe(take(n)));
    expect(values).toHaveLength(n);
    expect(started).toBe(Math.ceil(n / 2));
  });

  it('is cold, and starts afresh for each subscriber, repeat and retry', () => {
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

  it('is subscribed nothing when the subscriber is closed already', () => {
    let started = 0;
    observe(runTurns((state) => (started++, spoken(state, 1)), start).pipe(take(0)));
    expect(started).toBe(0);
  });

  it('pulls one value of a synchronous turn under take(1)', () => {
    const { count, source } = countedSource(() => text('a'));
    observe(runTurns(() => source, start).pipe(take(1)));
    expect(count).toEqual({ pulled: 1, subscribed: 1, torndown: 1 });
  });

  it('leaves the turn when it is left', () => {
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
  ])('passes the error of a turn %s on, after what came', (_, failing: () => Observable<Chunk | TurnEvent>) => {
    const { values, error } = observe(runTurns((state) => (state.turn === 0 ? spoken(state, 2) : failing()), start));
    expect(values).toHaveLength(2);
    expect(error).toEqual(new Error('no turn'));
  });

  it('emits no turn event of a turn that fails after it', () => {
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
  ])('reports a turn without a turn event as interrupted (a turn %s)', (_, turn) => {
    const { completed, error } = observe(runTurns(() => turn, start, { provider: 'mine' }));
    expect(completed).toBe(false);
    expect(error).toMatchObject({ code: 'stream_interrupted', provider: 'mine', retryable: true });
  });

  describe('tears a turn down before it emits the turn event and starts the next', () => {
    const log: string[] = [];
    const noted = (n: number) => (source: Observable<Chunk | MessageEvent | TurnEvent>) =>
      new Observable<Chunk | MessageEvent | TurnEvent>((out) => {
        log.push(`open ${n}`);
        const inner = source.subscribe(out);
        return () => {
          inner.unsubscribe();
          log.push(`closed ${n}`);
        };
      });
    const expected = ['open 1', 'closed 1', 'turn 1', 'open 2', 'closed 2', 'turn 2'];
    const run = (turn: (state: RunState) => Observable<Chunk | MessageEvent | TurnEvent>) => {
      log.length = 0;
      return new Promise<string[]>((resolve, reject) =>
        runTurns(turn, start).subscribe({
          next: (event) => event.type === 'turn' && log.push(`turn ${event.turn}`),
          error: reject,
          complete: () => resolve(log),
        }),
      );
    };

    it('synchronously', async () => {
      expect(await run((state) => spoken(state, 2).pipe(noted(state.turn + 1)))).toEqual(expected);
    });

    it('asynchronously', async () => {
      const later = (state: RunState) =>
        scheduled([text('a'), turnEvent(state.turn + 1, state.turn === 1)], asyncScheduler);
      expect(await run((state) => later(state).pipe(noted(state.turn + 1)))).toEqual(expected);
    });

    it('through all the operators of a real turn, the tools before the turn event too', async () => {
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
        ) as Observable<Chunk | MessageEvent | TurnEvent>;
      });
      expect(seen).toEqual(['open 1', 'closed 1', 'tool gone', 'turn 1', 'open 2', 'closed 2', 'turn 2']);
    });
  });

  it('runs 10,000 synchronous turns', () => {
    let last: StreamEvent | undefined;
    let events = 0;
    runTurns((state) => spoken(state, 10_000), start, { maxTurns: Infinity }).subscribe((event) => {
      events++;
      last = event;
    });
    expect(events).toBe(20_000);
    expect(last).toMatchObject({ turn: 10_000, next: null });
  });

  it('holds nothing of a turn that is over', () => {
    const turns: WeakRef<Observable<StreamEvent>>[] = [];
    let open = 0;
    const turn = (state: RunState) => {
      open++;
      const events = spoken(state, 1000).pipe(finalize(() => open--));
      turns.push(new WeakRef(events));
      return events;
    };
    const { values } = observe(runTurns(turn, start, { maxTurns: Infinity }));
    expect(values).toHaveLength(2000);
    expect(open).toBe(0);
  });

  it("passes a user's own events with their type", () => {
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
