import { defer, ReplaySubject } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import type { Message } from '../../core/message.js';
import type { SentMessage } from '../ports/runLog.js';
import { estimateSize } from './estimateSize.js';

/**
 * The messages to a run that have arrived, and which of them it has taken: a prompt waits until its turn has ended.
 * What is taken is written with the checkpoint of that turn, so that each prompt joins once, whatever process goes on.
 */
export class PromptInbox {
  private arrived = new ReplaySubject<Message>(Infinity); // a run may subscribe to it late, after its store has written
  readonly prompts: Observable<Message> = defer(() => this.arrived);
  /** The prompts that have not joined the run, each with the position before it. */
  private readonly waiting = new Map<Message, string>();
  private last: string;
  private takenPosition: string;
  private size = 0;

  /** @param from The position of the last message that earlier executors have taken. */
  constructor(from = '0') {
    this.last = from;
    this.takenPosition = from;
  }

  /** The position of the last message that has arrived. */
  get seen(): string {
    return this.last;
  }

  /** The position of the last message that does not wait. */
  get taken(): string {
    return this.takenPosition;
  }

  /** About how many bytes the prompts have. */
  get bytes(): number {
    return this.size;
  }

  add({ position, message }: SentMessage): void {
    const before = this.last;
    this.last = position;
    if (message.type === 'prompt') {
      this.size += estimateSize(message.input);
      for (const prompt of message.input) this.waiting.set(prompt, before);
      for (const prompt of message.input) this.arrived.next(prompt);
    }
  }

  /** Notes an event of the run. A prompt that joins is one. */
  note(event: StreamEvent): void {
    const known = asKnownEvent(event);
    if (known.type === 'message') this.waiting.delete(known.message);
    if (known.type !== 'turn') return;
    const [firstWaiting = this.last] = this.waiting.values();
    this.takenPosition = firstWaiting;
  }

  /** The run has ended: its prompts are not kept with it. */
  clear(): void {
    this.arrived = new ReplaySubject(Infinity);
    this.waiting.clear();
    this.size = 0;
  }
}
