import { asyncScheduler, AsyncSubject, concat, concatMap, defer, EMPTY, of, takeUntil, type Observable } from 'rxjs';
import { hasAnswer, mergeAnswers, pickAnswers, type CallAnswers, type WaitingCall } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import { innermost } from '../../core/nested.js';
import type { RunRecord } from '../ports/runStore.js';
import type { PromptInbox } from './promptInbox.js';

/** Whether a run has not ended: it runs, or waits in memory, or its process has ended meanwhile. */
export const isOpenRun = (record: RunRecord): boolean => record.state === 'running' || waitsInMemory(record);

/** Other protocols store runs that have ended without their results. */
export const waitsInMemory = ({ state, result, protocol }: RunRecord): boolean =>
  state === 'waiting' && !result && !protocol;

/** The calls for which a run waits: in memory, or since it has ended. */
export const waitingIn = (record: RunRecord): readonly WaitingCall[] =>
  waitsInMemory(record)
    ? unanswered(record.checkpoint, record.answersLeft ?? {})
    : (record.result?.waiting ?? record.checkpoint?.open?.waiting ?? []); // a thread of AG-UI has no result

/** Whether answers are for calls that still wait for one, while their run works on others. */
export const isAskedIn = ({ checkpoint, answers, answersLeft = {} }: RunRecord, given: CallAnswers): boolean =>
  unanswered(checkpoint, mergeAnswers(answers, answersLeft)).some(({ id }) => hasAnswer(given, id));

const unanswered = (checkpoint: Checkpoint | undefined, answers: CallAnswers): readonly WaitingCall[] =>
  (checkpoint?.open?.waiting ?? []).filter(({ id }) => !hasAnswer(answers, id));

type AnswerFields = Pick<RunRecord, 'state' | 'answersLeft'> & Partial<Pick<RunRecord, 'updated' | 'taken'>>;

/**
 * The answers that the calls of a run have not received yet, and what its record says of them. If it is live, the run
 * waits in memory while all of its open calls are questions: their tools have begun, so another attempt would repeat
 * what they do. Other calls have not begun.
 */
export class LiveAnswers {
  private readonly left = new AsyncSubject<void>();

  constructor(
    private checkpoint: Checkpoint | undefined,
    private given: CallAnswers = {},
    private isLive: boolean,
    /** The state that the record has. */
    private readonly before: () => RunRecord['state'],
  ) {}

  /** A question that is asked again needs another answer. */
  note(event: StreamEvent): void {
    const asked = innermost(event);
    if (asked.type === 'toolWaiting') this.given = pickAnswers(this.given, (id) => id !== asked.id);
  }

  fields(checkpoint = this.checkpoint): AnswerFields {
    this.checkpoint = checkpoint;
    const waiting = checkpoint?.open?.waiting ?? [];
    const left = pickAnswers(this.given, (id) => waiting.some((call) => call.id === id));
    const isLeft = waiting.some(({ id }) => hasAnswer(left, id));
    const state = this.waits() ? 'waiting' : 'running';
    const changed = state === this.before() ? {} : { updated: asyncScheduler.now() };
    return { state, answersLeft: isLeft ? left : undefined, ...changed };
  }

  /** The first answers to open questions, each after it is written; none any more if the run may not wait. */
  receive(inbox: PromptInbox, write: (fields: AnswerFields) => Observable<never>): Observable<CallAnswers> {
    return inbox.answers.pipe(
      concatMap((sent) => {
        const open = unanswered(this.checkpoint, this.given);
        const first = pickAnswers(sent.answers, (id) => open.some((call) => call.id === id));
        inbox.take(sent);
        if (!open.some(({ id }) => hasAnswer(first, id))) return EMPTY;
        this.given = mergeAnswers(this.given, first);
        return concat(
          defer(() => write({ ...this.fields(), taken: inbox.taken })),
          of(first),
        );
      }),
      takeUntil(this.left),
    );
  }

  private waits(): boolean {
    const open = unanswered(this.checkpoint, this.given);
    if (open.some(({ question }) => !question)) this.leave();
    return this.isLive && open.length > 0;
  }

  private leave(): void {
    this.isLive = false;
    this.left.next();
    this.left.complete();
  }
}
