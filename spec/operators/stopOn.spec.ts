import { describe, expect, it } from '@jest/globals';
import {
  from,
  BehaviorSubject,
  NEVER,
  Observable,
  ReplaySubject,
  Subject,
  concat,
  filter,
  finalize,
  map,
  of,
  throwError,
} from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import { createOperator } from '../../lib/core/createOperator.js';
import { startState } from '../../lib/core/event.js';
import type { RunState } from '../../lib/core/event.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { fallback } from '../../lib/models/fallback.js';
import { guardModel } from '../../lib/models/guardModel.js';
import { hedge } from '../../lib/models/hedge.js';
import { createLimiter, limitModel } from '../../lib/models/limitModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { endTurn } from '../../lib/operators/endTurn.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { stopResponse } from '../../lib/core/response.js';
import { stopOn } from '../../lib/operators/stopOn.js';
import { runTurns } from '../../lib/agent/runTurns.js';
import type { TurnPosition } from '../../lib/agent/runTurns.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';

const text = (content: string): Chunk => ({ type: 'text', text: content });
const stopped: Chunk = { type: 'finish', reason: 'stopped' };
const turn: readonly Chunk[] = [text('a'), text('b'), { type: 'finish', reason: 'stop' }];

describe('stopOn', () => {
  it('replaces the rest of the response by a finish, as in its diagram', () =>
    diagram('stopOn', ({ source, stop$ }) => source.pipe(stopOn(stop$ ?? NEVER))));

  it.each(operatorContract(stopOn<Chunk>(NEVER), { source: turn }))('stopOn $title', ({ run }) => run());

  it('emits the finish when the source is torn down, and then completes', () => {
    const [chunks, stop] = [new Subject<Chunk>(), new Subject<void>()];
    const order: string[] = [];
    const stream = chunks.pipe(
      finalize(() => order.push('source torn down')),
      stopOn(stop),
    );
    stream.subscribe({ next: ({ type }) => order.push(type), complete: () => order.push('complete') });
    chunks.next(text('a'));
    stop.next();
    expect(order).toEqual(['text', 'source torn down', 'finish', 'complete']);
    expect([chunks.observed, stop.observed]).toEqual([false, false]);
  });

  it('does not subscribe the source if the notifier emits at subscription', () => {
    let subscribed = 0;
    const source = new Observable<Chunk>(() => {
      subscribed++;
    });
    const { values, completed } = observe(source.pipe(stopOn(new BehaviorSubject(1))));
    expect([values, completed, subscribed]).toEqual([[stopped], true, 0]);
  });

  it('stops a synchronous source in the emission of which the notifier emits', () => {
    const stop = new Subject<void>();
    const source = of(...turn).pipe(map((chunk) => (stop.next(), chunk)));
    expect(observe(source.pipe(stopOn(stop))).values).toEqual([stopped]);
    const handled: Chunk[] = [];
    of(...turn)
      .pipe(stopOn(stop))
      .subscribe((chunk) => {
        handled.push(chunk);
        stop.next();
      });
    expect(handled).toEqual([text('a'), stopped]);
  });

  it('emits one finish if the notifier emits between the finish and the completion', () => {
    const stop = new Subject<void>();
    const log = observe(concat(of(...turn), NEVER).pipe(stopOn(stop)));
    stop.next();
    expect([log.values, log.completed]).toEqual([turn, true]);
  });

  it('keeps the finish, with its usage, if the notifier emits while the finish completes a call', () => {
    const stop = new Subject<void>();
    const fragment = { type: 'toolCallFragment', index: 0, id: 'c1', name: 'load', arguments: '{}' } as const;
    const finish = { type: 'finish', reason: 'toolCalls', usage: { input: 7 } } as const;
    const values: string[] = [];
    from<readonly Chunk[]>([fragment, finish])
      .pipe(stopOn(stop), accumulateToolCalls())
      .subscribe((event) => {
        values.push(event.type);
        if (event.type === 'toolCall') stop.next();
      });
    expect(values).toEqual(['toolCall', 'finish']);
  });

  it('passes an error of the notifier on, and ignores its completion', () => {
    const stop = new Subject<void>();
    const chunks = new Subject<Chunk>();
    const log = observe(chunks.pipe(stopOn(stop)));
    stop.complete();
    chunks.next(text('a'));
    expect([log.values, log.completed]).toEqual([[text('a')], false]);
    const failure = new Error('the button broke');
    expect(observe(chunks.pipe(stopOn(throwError(() => failure)))).error).toBe(failure);
  });

  /** Holds the last character back. */
  const holdLast = () =>
    createOperator<Chunk, Chunk>((out) => {
      let held = '';
      return {
        next(chunk) {
          if (chunk.type !== 'text') {
            if (held !== '') out.next(text(held));
            held = '';
            out.next(chunk);
            return;
          }
          const content = held + chunk.text;
          held = content.slice(-1);
          out.next(text(content.slice(0, -1)));
        },
      };
    });

  it('passes what an operator releases through the operators of pipeModel', () => {
    const [chunks, stop] = [new Subject<Chunk>(), new Subject<void>()];
    const upper = map((chunk: Chunk) => (chunk.type === 'text' ? text(chunk.text.toUpperCase()) : chunk));
    const model = pipeModel(
      scriptedModel([chunks]),
      holdLast(),
      filter(({ type }) => type !== 'metadata'),
      upper,
    );
    const log = observe(stopResponse(model, { messages: [] }, stop));
    chunks.next(text('ab'));
    stop.next();
    expect(log.values).toEqual([text('A'), text('B'), stopped]);
  });

  it.each<[string, (model: Model) => Model]>([
    ['retryModel', (model) => retryModel(model, { delay: 0 })],
    ['fallback', (model) => fallback([scriptedModel([[{ error: new Error('down') }]]), model])],
    ['hedge', (model) => hedge([model, scriptedModel([NEVER])], { after: 0 })],
    ['limitModel', (model) => limitModel(model, createLimiter({ concurrency: 1 }))],
    ['guardModel', (model) => guardModel(model, () => true)],
  ])('keeps the text that is held back inside %s', (_, around) => {
    const [chunks, stop] = [new Subject<Chunk>(), new Subject<void>()];
    const model = around(pipeModel(scriptedModel([chunks]), holdLast()));
    const log = observe(stopResponse(model, { messages: [userMessage('Hi')] }, stop));
    chunks.next(text('ab'));
    stop.next();
    expect(log.values.slice(-3)).toEqual([text('a'), text('b'), stopped]);
  });

  it('forwards what follows the finish of the source, if the notifier has not emitted', () => {
    const after: Chunk = { type: 'metadata', metadata: { id: 'r1' } };
    expect(observe(from([...turn, after]).pipe(stopOn(NEVER))).values).toEqual([...turn, after]);
  });

  it('unsubscribes a source that stays open, if a handler of its finish stops it', () => {
    const [chunks, stop] = [new Subject<Chunk>(), new Subject<void>()];
    const values: string[] = [];
    let completed = false;
    chunks.pipe(stopOn(stop), consolidate()).subscribe({
      next(event) {
        values.push(event.type);
        if (event.type === 'message') stop.next();
      },
      complete: () => (completed = true),
    });
    chunks.next(text('a'));
    chunks.next({ type: 'finish', reason: 'stop' });
    expect([values, completed, chunks.observed]).toEqual([['text', 'message', 'finish'], true, false]);
  });

  it('does not subscribe the notifier for an output that is closed', () => {
    let subscribed = 0;
    const notifier = new Observable<never>(() => {
      subscribed++;
    });
    observe(
      new Observable<Chunk>((closed) => {
        closed.complete();
        of(...turn)
          .pipe(stopOn(notifier))
          .subscribe(closed);
      }),
    );
    expect(subscribed).toBe(0);
  });

  it('ends a loop of turns, also if the notifier emits between two turns', () => {
    const stop = new ReplaySubject<void>(1);
    const model = scriptedModel([[toolCall('look')], 'never']);
    const look = tool({ name: 'look', description: '', execute: () => 'rain' });
    const turnFrom = (state: RunState, { last }: TurnPosition) =>
      model
        .stream({ messages: state.messages })
        .pipe(
          stopOn(stop),
          accumulateToolCalls(),
          consolidate(),
          executeTools([look], { stop }),
          endTurn(state, { last }),
        );
    const turns: unknown[] = [];
    runTurns(turnFrom, startState([userMessage('Hi')])).subscribe((event) => {
      if (event.type !== 'turn') return;
      turns.push([event.turn, event.finishReason, event.next === null]);
      stop.next();
    });
    expect(turns).toEqual([
      [1, 'toolCalls', false],
      [2, 'stopped', true],
    ]);
    expect(model.requests).toHaveLength(1);
  });

  it('ends a turn with its partial text and its complete calls, and drops an incomplete call', () => {
    const [chunks, stop] = [new Subject<Chunk>(), new Subject<void>()];
    const log = observe(chunks.pipe(stopOn(stop), accumulateToolCalls(), consolidate()));
    chunks.next(text('Once'));
    chunks.next({ type: 'toolCallFragment', index: 0, id: 'c1', name: 'load', arguments: '{}', done: true });
    chunks.next({ type: 'toolCallFragment', index: 1, id: 'c2', name: 'save', arguments: '{"a":' });
    stop.next();
    const call = { type: 'toolCall', id: 'c1', name: 'load', arguments: {} } as const;
    expect(log.values.slice(2)).toEqual([
      { type: 'message', message: modelMessage([{ type: 'text', text: 'Once' }, call]) },
      stopped,
    ]);
  });
});
