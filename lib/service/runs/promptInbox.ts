import { ReplaySubject, type Observable } from 'rxjs';
import { MAX_ANSWERS } from '../../core/approval.js';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import { idsOf, isNew } from '../../core/input.js';
import type { Message } from '../../core/message.js';
import type { RunMessage, SentMessage } from '../ports/runLog.js';
import type { RunRecord } from '../ports/runStore.js';
import { estimateSize } from './estimateSize.js';

/** What a run has taken, as its record says. */
export const inboxOf = ({ taken, checkpoint }: RunRecord) => new PromptInbox(taken, checkpoint?.emitted.messages);

export type SentAnswers = Extract<RunMessage, { readonly type: 'answers' }>;

/** What is taken is written with the checkpoint of its turn, so that each prompt joins once. */
export class PromptInbox {
  private arrived = new ReplaySubject<Message>(Infinity); // a run may subscribe to it late, after its store has written
  private readonly given = new ReplaySubject<SentAnswers>(MAX_ANSWERS);
  /** Answers to questions for which the run waits in memory. */
  readonly answers = this.given.asObservable();
  /** Prompts and other messages that the record does not have, each with the position before it. */
  private readonly waiting = new Map<Message | RunMessage, string>();
  /** Those of them that it has when the turn has ended. */
  private readonly used = new Set<Message | RunMessage>();
  /** The ids of the prompts that the run has taken, and of those that wait. */
  private readonly ids: Set<string>;
  /** About how many bytes the prompts have. */
  bytes = 0;
  /** Whether the run has ended as waiting: a stop is too late for it, and too early for its record. */
  isWaiting = false;
  /** Whether another process has sent a stop since then. */
  isStopLate = false;

  /**
   * @param seen The position of the last message; at the start, that which earlier executors have taken.
   * @param before The messages that the run has added before. Default: none.
   */
  constructor(
    public seen = '0',
    before?: readonly Message[],
  ) {
    this.ids = new Set(idsOf(before));
  }

  /** Whether a message is a prompt that the run has taken, or that waits for it. */
  has(message: RunMessage): boolean {
    return message.type === 'prompt' && message.input.every(({ id = '' }) => this.ids.has(id));
  }

  get taken(): string {
    const [beforeFirst = this.seen] = this.waiting.values();
    return beforeFirst;
  }

  get prompts(): Observable<Message> {
    return this.arrived.asObservable();
  }

  add({ position, message }: SentMessage): void {
    const prompts = message.type === 'prompt' ? message.input.filter((prompt) => isNew(prompt, this.ids)) : [];
    for (const part of prompts.length > 0 ? prompts : [message]) this.waiting.set(part, this.seen);
    this.seen = position;
    if (message.type === 'answers') this.given.next(message);
    if (prompts.length === 0) return void this.used.add(message);
    this.bytes += estimateSize(prompts);
    for (const prompt of prompts) this.arrived.next(prompt);
  }

  /** The next write of the record has what is left of these answers. */
  take(answers: SentAnswers): void {
    this.waiting.delete(answers);
  }

  /** The run may not wait in memory any longer. */
  endAnswers(): void {
    this.given.complete();
  }

  note(event: StreamEvent): void {
    const known = asKnownEvent(event);
    if (known.type === 'message' && this.waiting.has(known.message)) this.used.add(known.message);
    if (known.type !== 'turn') return;
    for (const message of this.used) this.waiting.delete(message);
    this.used.clear();
  }

  /** Prompts are not kept with a run that has ended. */
  clear(): void {
    this.arrived = new ReplaySubject(Infinity);
    this.waiting.clear();
    this.ids.clear();
    this.used.clear();
    this.bytes = 0;
  }
}
