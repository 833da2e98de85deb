import { defer, ReplaySubject } from 'rxjs';
import type { Observable } from 'rxjs';
import { MAX_ANSWERS } from '../../core/approval.js';
import type { CallAnswers } from '../../core/approval.js';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import type { Message } from '../../core/message.js';
import type { SentMessage } from '../ports/runLog.js';
import { estimateSize } from './estimateSize.js';

/** What is taken is written with the checkpoint of its turn, so that each prompt joins once. */
export class PromptInbox {
  private arrived = new ReplaySubject<Message>(Infinity); // a run may subscribe to it late, after its store has written
  readonly prompts: Observable<Message> = defer(() => this.arrived);
  private readonly given = new ReplaySubject<CallAnswers>(MAX_ANSWERS);
  /** Answers to questions for which the run waits in memory. */
  readonly answers = this.given.asObservable();
  /** Waiting prompts, each with the position before it. */
  private readonly waiting = new Map<Message, string>();
  private last: string;
  private takenPosition: string;
  private size = 0;

  /** `from`: the last message that earlier executors have taken. */
  constructor(from = '0') {
    this.last = from;
    this.takenPosition = from;
  }

  get seen(): string {
    return this.last;
  }

  get taken(): string {
    return this.takenPosition;
  }

  get bytes(): number {
    return this.size;
  }

  add({ position, message }: SentMessage): void {
    const before = this.last;
    this.last = position;
    if (message.type === 'answers') this.given.next(message.answers);
    if (message.type === 'prompt') {
      this.size += estimateSize(message.input);
      for (const prompt of message.input) this.waiting.set(prompt, before);
      for (const prompt of message.input) this.arrived.next(prompt);
    }
  }

  /** The run may not wait in memory any longer. */
  endAnswers(): void {
    this.given.complete();
  }

  note(event: StreamEvent): void {
    const known = asKnownEvent(event);
    if (known.type === 'message') this.waiting.delete(known.message);
    if (known.type !== 'turn') return;
    const [firstWaiting = this.last] = this.waiting.values();
    this.takenPosition = firstWaiting;
  }

  /** Prompts are not kept with a run that has ended. */
  clear(): void {
    this.arrived = new ReplaySubject(Infinity);
    this.waiting.clear();
    this.size = 0;
  }
}
