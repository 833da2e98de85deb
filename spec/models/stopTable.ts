import {
  asapScheduler,
  catchError,
  concat,
  concatMap,
  defer,
  finalize,
  identity,
  map,
  merge,
  mergeMap,
  NEVER,
  observeOn,
  of,
  share,
  Subject,
  subscribeOn,
  takeWhile,
  tap,
  throwError,
  timer,
  using,
} from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk, FinishChunk } from '../../lib/core/chunk.js';
import { createOperator } from '../../lib/core/createOperator.js';
import type { RunEvent } from '../../lib/core/event.js';
import type { Model, ModelRequest } from '../../lib/core/model.js';
import { cachePrompt } from '../../lib/models/cachePrompt.js';
import { fallback } from '../../lib/models/fallback.js';
import { guardModel } from '../../lib/models/guardModel.js';
import { hedge } from '../../lib/models/hedge.js';
import { createLimiter, limitModel } from '../../lib/models/limitModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { priceModel } from '../../lib/models/priceModel.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { holdBack } from '../../lib/operators/holdBack.js';
import { smooth } from '../../lib/operators/smooth.js';
import { record } from '../../lib/observe/recording/record.js';
import { observe } from '../support/observe.js';
import { inVirtualTime, lost } from './models.js';

/** What a user may pass to `pipeModel`. */
const operators: Readonly<Record<string, MonoTypeOperatorFunction<Chunk>>> = {
  identity,
  map: map((chunk) => chunk),
  finalize: finalize(() => undefined),
  tap: tap(() => undefined),
  subscribeOn: subscribeOn(asapScheduler),
  observeOn: observeOn(asapScheduler),
  defer: (source) => defer(() => source),
  share: share(),
  using: (source) =>
    using(
      () => undefined,
      () => source,
    ),
  catchError: catchError((thrown: unknown) => throwError(() => thrown)),
  'finalize, identity': (source) => identity(source.pipe(finalize(() => undefined))),
  createOperator: createOperator<Chunk, Chunk>((out) => ({ next: (chunk) => out.next(chunk) })),
  holdBack: holdBack((text) => text.lastIndexOf(' ') + 1),
  smooth: smooth(),
};

/** The wrappers of models. */
export const wrappers: Readonly<Record<string, (model: Model) => Model>> = {
  'no wrapper': (model) => model,
  retryModel: (model) => retryModel(model, { count: 1, delay: 0 }),
  fallback: (model) => fallback([model, model]),
  hedge: (model) => hedge([model, model], { after: 500 }),
  'hedge of two': (model) => hedge([{ ...model, stream: silent }, model], { after: 0 }),
  limitModel: (model) => limitModel(model, createLimiter({ concurrency: 1 })),
  guardModel: (model) => guardModel(model, () => true),
  priceModel: (model) => priceModel(model, { input: 1, output: 1 }),
  cachePrompt: (model) => cachePrompt(model),
  record: (model) => record(model, () => undefined),
  pipeModel: (model) =>
    pipeModel(
      model,
      finalize(() => undefined),
    ),
};

const ends = [
  'completes',
  'fails',
  'is stopped',
  'is guarded',
  'is retracted',
  'is left',
  'is left in a handler',
] as const;

/** What a model does at a stop: it ends its response, or does not know what a stop is. */
const kinds = ['obeys', 'ignores a stop', 'is synchronous'] as const;

/** One row of the table. */
export interface StopCase {
  readonly operator: string;
  readonly wrapper: string;
  readonly end: (typeof ends)[number];
  readonly kind: (typeof kinds)[number];
}

/** All rows for a wrapper. */
export const casesOf = (wrapper: string): readonly StopCase[] =>
  Object.keys(operators).flatMap((operator) =>
    ends.flatMap((end) => kinds.map((kind) => ({ operator, wrapper, end, kind }))),
  );

const silent = (): Observable<Chunk> => timer(1000).pipe(mergeMap(() => throwError(() => new Error('no answer'))));

const words = ['one ', 'two', ' three'];
const reported: FinishChunk = { type: 'finish', reason: 'stopped', usage: { input: 7 } };

/** A model that says its words, the last one too late for an end from outside. `open` counts its streams. */
function speakingModel({ end, kind }: StopCase, open: { count: number }): Model {
  let attempts = 0;
  const texts = words.map((text): Chunk => ({ type: 'text', text }));
  const stream = ({ stop = NEVER }: ModelRequest) =>
    defer(() => {
      open.count++;
      const failure = end === 'fails' ? new Error('of the model') : end === 'is retracted' && ++attempts === 1 && lost;
      const last = failure
        ? throwError(() => failure)
        : of<Chunk>({ type: 'finish', reason: 'stop', usage: { input: 9 } });
      const isLate = ['is stopped', 'is guarded', 'is left'].includes(end);
      const wait = (index: number) => timer(isLate && index === 2 ? 5000 : 8);
      const timed = of(...texts).pipe(concatMap((chunk, index) => wait(index).pipe(map(() => chunk))));
      const chunks = concat(kind === 'is synchronous' ? of(...texts) : timed, last);
      const ending = kind === 'obeys' ? merge(chunks, stop.pipe(map(() => reported))) : chunks;
      return ending.pipe(
        takeWhile(({ type }) => type !== 'finish', true),
        finalize(() => open.count--),
      );
    });
  return { provider: 'p', name: 'm', stream };
}

/** What is wrong with a run: it ends once, closes its model, keeps its text, and reports its usage. */
export function problemsOf(row: StopCase): readonly string[] {
  const { operator, wrapper, end, kind } = row;
  const open = { count: 0 };
  let model = pipeModel(speakingModel(row, open), operators[operator] ?? identity);
  model = wrappers[wrapper]?.(model) ?? model;
  if (end === 'is guarded')
    model = guardModel(model, (content) => content.type !== 'text' || !content.text.includes('two'));
  if (end === 'is retracted') model = retryModel(model, { count: 1, delay: 0 });
  return inVirtualTime(({ flush }) => {
    const stop = new Subject<void>();
    let isLeft = false;
    let late = 0;
    const leave = () => {
      isLeft = true;
      log.subscription.unsubscribe();
    };
    const leaveSoon = () => timer(0).subscribe(leave);
    const events = createAgent({ model }).stream('Hi', { stop });
    const log = observe(
      events.pipe(
        tap(({ type }) => {
          if (isLeft) late++;
          if (end === 'is left in a handler' && type === 'text') leaveSoon();
        }),
      ),
    );
    if (end === 'is stopped') timer(100).subscribe(() => stop.next());
    if (end === 'is left') timer(100).subscribe(leave);
    flush();
    const problems: string[] = [];
    if (open.count !== 0) problems.push(`${open.count} streams are open`);
    if (late > 0) problems.push(`${late} events after the run was left`);
    if (!log.closed()) problems.push('the run never ends');
    return [...problems, ...wrongContent(row, log.values)].map((problem) => `${operator}, ${kind}, ${end}: ${problem}`);
  });
}

function wrongContent({ operator, wrapper, end, kind }: StopCase, events: readonly RunEvent[]): readonly string[] {
  const start = events.findLastIndex(({ type }) => type === 'retract') + 1;
  const text = events
    .slice(start)
    .flatMap((event) => (event.type === 'text' ? [event.text] : []))
    .join('');
  const result = events.find((event) => event.type === 'result')?.result;
  const isComplete = end === 'completes' || (end === 'is retracted' && !wrapper.startsWith('hedge'));
  const expected = isComplete || kind === 'is synchronous' ? words.join('') : words.slice(0, 2).join('');
  const problems: string[] = [];
  if ((isComplete || end === 'is stopped') && text !== expected) problems.push(`the text is "${text}"`);
  if (end === 'is guarded' && text.includes('two')) problems.push('rejected text was emitted');
  if (end !== 'is stopped' || kind !== 'obeys' || operator === 'observeOn') return problems;
  if (result?.usage.input !== 7) problems.push(`the usage is ${JSON.stringify(result?.usage)}`);
  return problems;
}
