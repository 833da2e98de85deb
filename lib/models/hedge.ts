import type { Model, ModelRequest } from '../core/model.js';
import { requireGiven, MAX_TIMER_DELAY } from '../core/options.js';
import { compositeModel, firstModel, combinedError, streamOf } from './composite.js';
import { asyncScheduler, Observable, Subscription, take, type Subscriber } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { subscribeUntilClosed, type OperatorSource } from '../core/createOperator.js';
import { onEachValue } from '../core/notifier.js';
import { announceFinish, ResponseStop, stoppedFinish, stopResponse } from '../core/response.js';
import { sumUsages, type Usage } from '../core/usage.js';
import { isAnswerContent } from '../protocol/decodeFrames.js';
import { retraction } from './retraction.js';

export interface HedgeOptions {
  /** How long a model may take until its first content before the next one is asked as well, in milliseconds. */
  readonly after: number;
}

/**
 * A model that asks the next model as well when one is slow to begin, and continues with the first that answers.
 *
 * <span class="informal">No answer after two seconds? Ask another one, and take whoever speaks first.</span>
 *
 * ![](../../marbles/hedge.svg)
 *
 * The first content (text, thinking, a tool call, a file) decides; metadata does not. The other models are then
 * unsubscribed, which closes their connections, before that content is emitted. Until then, only `retry` notices are
 * emitted. A model that fails, or cannot serve the request (by its `capabilities`), is replaced by the next one at
 * once. If the model that answers fails in the middle of its response, a `retract` voids what it has emitted, and the
 * turn starts over with the models that have not failed.
 *
 * The events say which model answers: metadata `{ answeredBy: { provider, name } }` precedes its first chunk. The
 * providers may charge for the requests of the other models; `usage` does not contain them. A stop before the first
 * content ends all of them, and `usage` is their sum.
 *
 * ```ts
 * const model = hedge([openai('gpt-6.1-terra'), openai('gpt-6.1-terra', { baseUrl: backupUrl })], { after: 2000 });
 * ```
 *
 * @param models The models, in the order in which they are asked.
 * @param options `after`, in milliseconds.
 * @returns A model. It has the provider and the name of the first model, and the capabilities that all models have. Its
 * streams fail with an AllModelsFailedError, whose `errors` are those of the models.
 * @throws ConfigurationError `model` if there are no models, and `options` if `after` is not a number.
 */
export function hedge(models: readonly Model[], { after }: HedgeOptions): Model {
  requireGiven('after', after, 0);
  return compositeModel(firstModel('hedge', models), models, (request) => firstToAnswer(models, request, after));
}

interface Failure {
  readonly model: Model;
  readonly error: unknown;
}

/** A failure after content is retracted, and the rest asked again. After `after` ms, also the next; 0: all. */
function firstToAnswer(
  models: readonly Model[],
  request: ModelRequest,
  after: number,
  earlier: readonly Failure[] = [],
): Observable<Chunk> {
  return new Observable<Chunk>((out) => {
    const failures = new Map<number, Failure>(); // by index: a model may be named twice
    const sources: OperatorSource[] = []; // by index
    let winner: number | undefined; // its index
    let asked = 0;
    let wait = Subscription.EMPTY;
    const hasAnswer = () => winner !== undefined;
    const stop = request.stop && new CommonStop(out, request.stop, hasAnswer);
    const isOver = () => hasAnswer() || out.closed || stop?.isStopped;
    out.add(() => wait.unsubscribe());

    const askNext = () => {
      wait.unsubscribe();
      const model = models[asked];
      if (!model || isOver()) return;
      // Before the model is asked: it may fail or answer synchronously.
      if (after > 0) wait = asyncScheduler.schedule(askNext, Math.min(after, MAX_TIMER_DELAY));
      ask(model, asked++);
      if (after === 0) askNext();
    };
    const ask = (model: Model, index: number) => {
      const held: Chunk[] = []; // until its first content
      const win = () => {
        winner = index;
        wait.unsubscribe();
        sources.forEach((source, other) => other !== index && source.unsubscribe());
        for (const chunk of held) out.next(chunk);
      };
      const handlers = {
        next(chunk: Chunk) {
          if (stop?.takes(chunk)) return;
          if (winner === index || chunk.type === 'retry') {
            out.next(chunk);
            return;
          }
          if (chunk.type === 'retract') held.length = 0;
          else held.push(chunk);
          if (isAnswerContent(chunk)) win();
        },
        error: (error: unknown) => failures.set(index, { model, error }),
        complete() {
          if (stop?.isStopped) return;
          if (winner === undefined) win(); // without content only if the model breaks its contract
          out.complete();
        },
        afterFailure() {
          const failure = failures.get(index);
          if (failure) replace(failure, winner === index);
        },
      };
      sources[index] = subscribeUntilClosed(
        out,
        streamOf(model, stop ? { ...request, stop: stop.notifier } : request, stopResponse),
        handlers,
      );
    };
    const replace = ({ error }: Failure, isWinner: boolean) => {
      const all = [...earlier, ...models.flatMap((_, index) => failures.get(index) ?? [])];
      const others = models.filter((_, index) => !failures.has(index));
      if (others.length === 0) {
        out.error(
          combinedError(
            all.map(({ model }) => model),
            all.map((failure) => failure.error),
            error,
          ),
        );
        return;
      }
      for (const chunk of retraction(error, isWinner)) out.next(chunk);
      if (isWinner) firstToAnswer(others, request, after, all).subscribe(out);
      else askNext();
    };
    askNext();
  });
}

/** Before one of the models has answered, the usage of all of them counts. */
class CommonStop {
  private readonly each = new ResponseStop();
  readonly notifier = this.each.notifier;
  private usages: (Usage | undefined)[] | undefined;

  constructor(out: Subscriber<Chunk>, stop: Observable<unknown>, hasAnswer: () => boolean) {
    onEachValue(out, stop.pipe(take(1)), (call) => {
      if (!hasAnswer()) this.usages = [];
      if (this.each.ask()) announceFinish(call); // each model emits a `finish`
      if (!this.usages) return;
      const usage = sumUsages(this.usages);
      out.next({ ...stoppedFinish, ...(usage && { usage }) });
      out.complete();
    });
  }

  get isStopped(): boolean {
    return this.usages !== undefined;
  }

  takes(chunk: Chunk): boolean {
    if (chunk.type === 'finish') this.usages?.push(chunk.usage);
    return this.isStopped;
  }
}
