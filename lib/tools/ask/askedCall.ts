import { asyncScheduler, AsyncSubject, concat, concatMap, defaultIfEmpty, defer, EMPTY, filter, finalize } from 'rxjs';
import { from, merge, mergeMap, NEVER, noop, of, ReplaySubject, take, takeLast, takeUntil, tap } from 'rxjs';
import { throwError, type Observable } from 'rxjs';
import type { CallAnswers, Question } from '../../core/approval.js';
import type { RunEvent } from '../../core/event.js';
import { omitUndefined, type JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { ToolResultPart } from '../../core/message.js';
import { requireNumber } from '../../core/options.js';
import type { InnerPlace } from '../../core/innerPlaces.js';
import type { InnerWork } from '../../core/innerWork.js';
import { nestedId, type InnerRunControl, type OuterRun } from '../../core/nested.js';
import { isMarkedProgress } from '../../core/progress.js';
import { toJsonSchema, validate, type Infer, type Schema } from '../../core/schema.js';
import { after } from '../../core/timeLimit.js';
import type { ToolValue } from '../../operators/execute/runTool.js';
import { ToolFailure } from '../../operators/execute/toolFailure.js';
import { isPromise, toOutputStream } from '../../operators/execute/toolOutput.js';
import type { AskContext, AskOptions } from './askOptions.js';
import { CallJournal, cancelledQuestion, unanswered } from './callJournal.js';

/** One execution of the call: `retryTool` begins another one. */
interface Execution {
  isOpen: boolean;
  readonly ended: Observable<void>;
  /** The number of questions without a key. */
  count: number;
}

/** Asks people and runs steps. An execution that begins again receives the answers and results that there are. */
export class AskedCall implements InnerRunControl {
  private readonly journal: CallJournal;
  /** What its ids begin with: those of other tools in the call may have the same keys. */
  private readonly prefix: string;
  /** The questions for which the tool waits, by id. */
  private readonly open = new Map<string, ReplaySubject<void>>();
  /** The questions that have waited in memory for as long as they may. */
  private readonly late = new Set<string>();
  /** The questions whose answer is `otherwise`. */
  private readonly defaulted = new Set<string>();
  private openSteps = 0;
  /** Whether nobody answers any more, while the run lives. */
  private isUnheard = false;
  private inside: InnerWork;

  constructor(
    private readonly outer: OuterRun,
    private readonly idempotencyKey: string,
    readonly place: InnerPlace,
  ) {
    this.inside = outer;
    const { name, order } = place.task;
    this.prefix = order === 0 ? '' : `${name}.${order}.`;
    this.journal = new CallJournal(place);
    // Before it does anything: in another process, its place is still its own.
    if (name !== outer.call.name) this.keep();
  }

  /** The values of an execution, without the progress that an earlier one has emitted. */
  run(inside: InnerWork, execute: (asking: AskContext) => Observable<ToolValue>): Observable<ToolValue> {
    return defer(() => {
      this.inside = inside;
      const { journal, outer } = this;
      const listening = outer.answers.subscribe({
        next: (given) => this.answer(given),
        error: noop, // the run fails with it
        complete: () => this.leave([...this.open.keys()], true),
      });
      const ended = new AsyncSubject<void>();
      const execution = { isOpen: true, ended, count: 0 };
      const known = journal.progress;
      let emitted = 0;
      const values = execute({
        ask: (asked) => this.during(execution, () => this.ask(execution, asked)),
        once: (key, work) => this.during(execution, () => this.once(key, work)),
      });
      return values.pipe(
        filter((value) => {
          if (!isMarkedProgress(value)) return true;
          journal.progress = Math.max(known, ++emitted);
          return emitted > known;
        }),
        finalize(() => {
          execution.isOpen = false;
          listening.unsubscribe();
          ended.next();
          ended.complete();
        }),
      );
    });
  }

  /** After its execution has ended, an asynchronous tool asks nobody, and begins no step. */
  private during<T>(execution: Execution, work: () => Observable<T>): Observable<T> {
    return defer(() => {
      if (!execution.isOpen) return NEVER;
      const rest = defer(() => (execution.isOpen ? EMPTY : NEVER));
      return concat(work().pipe(takeUntil(execution.ended)), rest);
    });
  }

  private ask<S extends Schema>(execution: Execution, asked: AskOptions<S>): Observable<Infer<S>> {
    requireNumber('within', asked.within, 0);
    requireShort(asked);
    const id = `${this.prefix}${asked.key ?? ++execution.count}`;
    const answer = defer(() => this.answered(id, asked));
    return concat(this.outer.written, answer); // nobody is asked by a call that may be lost
  }

  private once<T>(key: string, work: (idempotencyKey: string) => Observable<T> | PromiseLike<T> | T): Observable<T> {
    const { journal, outer } = this;
    if (journal.steps.has(key)) return of(journal.steps.get(key) as T);
    const end = this.inside.begin();
    this.openSteps++;
    // The call is stored first: if the model were asked again, the call could have another id, and so another key.
    const output = defer(() => outputOf(() => work(`${this.idempotencyKey}.${this.prefix}${key}`)));
    return concat(outer.written, output).pipe(
      takeLast(1),
      defaultIfEmpty(null),
      concatMap((value) => {
        const result = toJson(value ?? null);
        journal.steps.set(key, result);
        this.keep();
        return concat(outer.written, of(result as T));
      }),
      finalize(() => {
        this.openSteps--;
        end();
        this.rest();
      }),
    );
  }

  /** A call that is stopped is answered as cancelled, with its questions. */
  stop(): void {
    this.open.clear();
  }

  cancel(id: string): void {
    for (const question of this.open.keys())
      if (nestedId(this.outer.call.id, question) === id) this.end(cancelledQuestion(question));
  }

  private answer(given: CallAnswers): void {
    for (const id of this.journal.add(given)) if (this.open.has(id)) this.proceed(id);
  }

  private leave(questions: readonly string[], isUnheard = this.isUnheard): void {
    this.isUnheard = isUnheard;
    for (const id of questions) this.late.add(id);
    this.rest();
  }

  /** The valid answer to a question. The person is asked again if the answer is not valid. */
  private answered<S extends Schema>(id: string, asked: AskOptions<S>, problem?: string): Observable<Infer<S>> {
    const answer = this.journal.answers.get(id);
    if (!answer || !this.journal.questions.has(id))
      return this.wait(id, asked, problem).pipe(mergeMap(() => this.answered(id, asked)));
    const { error, code = 'failed', reason } = answer;
    if (error !== undefined)
      return concat(
        this.tell(answer),
        throwError(() => new ToolFailure(code, error, undefined, reason)),
      );
    const validation = validate(asked.schema, answer.result);
    return (validation instanceof Promise ? from(validation) : of(validation)).pipe(
      mergeMap((checked) => {
        if ('value' in checked) return concat(this.tell(answer), of(checked.value as Infer<S>));
        if (this.defaulted.has(id)) throw new ToolFailure('failed', `\`otherwise\` is not valid: ${checked.invalid}`);
        this.journal.answers.delete(id);
        return this.answered(id, asked, checked.invalid);
      }),
    );
  }

  /** Tells readers of an answer that the tool receives, and completes when it is stored. */
  private tell(answer: ToolResultPart): Observable<never> {
    const { journal, outer } = this;
    if (journal.told.has(answer.id)) return EMPTY;
    return defer(() => {
      this.emit(journal.tell(answer));
      this.keep();
      return outer.written;
    });
  }

  private wait<S extends Schema>(id: string, asked: AskOptions<S>, problem?: string): Observable<void> {
    if (this.open.has(id)) throw new Error(`The call asks two questions with the key "${id}" at a time: change one.`);
    const opened = new ReplaySubject<void>(1); // it may be answered while it is announced
    this.open.set(id, opened);
    const { expires } = this.announce(id, asked, problem);
    if (this.journal.answers.has(id)) this.proceed(id); // the answer came first
    const isOver = after(expires === undefined ? Infinity : Math.max(0, expires - asyncScheduler.now()));
    const limits = merge(
      isOver.pipe(
        tap(() => {
          if (asked.otherwise !== undefined) this.defaulted.add(id);
          this.end(unanswered(id, asked.otherwise as JsonValue | undefined));
        }),
      ),
      after(this.isUnheard ? 0 : this.outer.patience).pipe(tap(() => this.leave([id]))),
    );
    const limited = limits.subscribe();
    let isAnswered = false;
    return opened.pipe(
      take(1),
      tap(() => (isAnswered = true)),
      finalize(() => {
        limited.unsubscribe();
        if (isAnswered) return;
        if (this.open.get(id) === opened) this.close(id); // otherwise it is asked again
        if (this.open.size === 0) this.outer.proceed(this, noop); // the tool, or the call, ends without the answer
      }),
    );
  }

  private announce<S extends Schema>(id: string, asked: AskOptions<S>, problem: string | undefined): Question {
    const { message, details, within = Infinity } = asked;
    const { journal } = this;
    const before = journal.waiting.get(id)?.question;
    const until = asyncScheduler.now() + within;
    const expires = before?.expires ?? (until > 8.64e15 ? undefined : until); // no Date is later
    const question: Question = { message, schema: schemaOf(asked), ...omitUndefined({ problem, expires }) };
    this.emit(journal.ask(id, question, details));
    this.keep();
    this.rest();
    return question;
  }

  private end(answer: ToolResultPart): void {
    this.journal.answers.set(answer.id, answer);
    this.proceed(answer.id);
  }

  /** Continues the tool with the answer to a question. It may still wait for another one. */
  private proceed(id: string): void {
    if (this.late.size > 0) this.keep(); // the checkpoint has the answer
    const goOn = () => {
      const opened = this.open.get(id);
      this.close(id);
      opened?.next();
      this.rest();
    };
    this.inside.goOn(this.place.task.order, () => this.outer.proceed(this, goOn));
  }

  private close(id: string): void {
    this.open.delete(id);
    this.late.delete(id);
  }

  /** A call in which nothing runs waits for people: in memory, as long as it may. */
  private rest(): void {
    const { open, journal } = this;
    const hasAnswer = [...open.keys()].some((id) => journal.answers.has(id));
    if (open.size === 0 || hasAnswer || this.openSteps > 0) return;
    this.outer.pause(this);
    if (this.late.size > 0) this.inside.suspend(journal.checkpoint());
  }

  private keep(): void {
    this.outer.keep(this.journal.checkpoint());
  }

  private emit(events: readonly RunEvent[]): void {
    for (const event of events) this.outer.emit(event);
  }
}

const schemaOf = ({ schema, message }: AskOptions<Schema>) => toJsonSchema(schema, `The question "${message}"`);

/** A question is in checkpoints, in records and on pages. Its text may be that of a model or of a server. */
const MAX_LENGTH = 50_000;

function requireShort(asked: AskOptions<Schema>): void {
  const { length } = JSON.stringify([asked.message, schemaOf(asked), asked.details]);
  if (length > MAX_LENGTH) throw new Error(`The question has ${length} characters. At most ${MAX_LENGTH} are allowed.`);
}

/** The output of a step, as that of `execute`. A value, also a list, is one value. */
function outputOf(work: () => unknown): Observable<unknown> {
  const output = work();
  return isPromise(output) ? from(output) : (toOutputStream(output) ?? of(output));
}
