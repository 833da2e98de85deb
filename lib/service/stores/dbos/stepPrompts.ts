import { ReplaySubject } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Message } from '../../../core/message.js';

/** The prompts that arrived before the end of a step, and not before that of an earlier one. */
export interface WithPrompts {
  readonly prompts?: { readonly from: number; readonly messages: readonly Message[] };
}

/**
 * The prompts that join a durable run. Each is stored with the first step that ends after its arrival, and joins the
 * run when that step is stored: a repeated execution has the same messages in the same turns.
 */
export class StepPrompts {
  /** The prompts that have arrived in this execution, from the first one of the run. */
  private readonly arrived: Message[] = [];
  /** How many of them are part of a step. */
  private taken = 0;
  /** Those of steps that are stored, by their number. Parallel steps may be stored in another order. */
  private readonly waiting = new Map<number, Message>();
  private released = 0;
  private readonly subject = new ReplaySubject<Message>(Infinity);

  /** Emits each prompt that is stored, in the order of their arrival. */
  readonly stored: Observable<Message> = this.subject;

  add(prompt: Message): void {
    this.arrived.push(prompt);
  }

  /** Adds the prompts that no step has yet to the result of a step. */
  addTo<S extends object>(stored: S | undefined): (S & WithPrompts) | undefined {
    const from = this.taken;
    const messages = this.arrived.slice(from);
    if (!stored || messages.length === 0) return stored;
    this.taken += messages.length;
    return { ...stored, prompts: { from, messages } };
  }

  /** Emits the prompts of a stored step, after those before them. */
  release({ prompts }: WithPrompts): void {
    if (!prompts) return;
    const { from, messages } = prompts;
    messages.forEach((message, index) => this.waiting.set(from + index, message));
    this.taken = Math.max(this.taken, from + messages.length);
    for (let next = this.waiting.get(this.released); next; next = this.waiting.get(this.released)) {
      this.released += 1;
      this.subject.next(next);
    }
  }
}
