import { Component, effect, inject } from '@angular/core';
import type { JsonValue } from 'rivulet';
import { injectWaiting } from 'rivulet/angular';
import { Chat } from './chat';
import { QuestionForm } from './question';

/** What waits for the user in all conversations. An approval is decided in its chat. */
@Component({
  selector: 'app-waiting',
  imports: [QuestionForm],
  template: `
    @if (waiting.count(); as count) {
      <details>
        <summary aria-live="polite">{{ count === 1 ? 'One thing waits' : count + ' things wait' }} for you</summary>
        @for (run of waiting.runs(); track run.id) {
          <h2 dir="auto">{{ run.title }}</h2>
          @for (call of run.waiting; track call.id) {
            @if (call.question; as question) {
              <app-question
                [id]="'waiting-' + run.id + call.id"
                [question]="question"
                [draft]="question.problem ? sent.get(call.id) : undefined"
                (answered)="answer(run.id, call.id, $event)"
                (declined)="waiting.decline(run.id, call.id)"
              />
            } @else {
              <p>
                <code>{{ call.name }}</code> waits in its chat.
              </p>
            }
          }
        }
      </details>
    }
    @if (waiting.error(); as error) {
      <p class="problem" role="alert">{{ textOf(error) }}</p>
    }
  `,
})
export class Waiting {
  protected readonly waiting = injectWaiting();
  private readonly chat = inject(Chat);
  /** The answers by question: the run that asks again, since one was not valid, is another one. */
  protected readonly sent = new Map<string, JsonValue>();

  constructor() {
    effect(() => {
      this.chat.current.isBusy(); // a run of the conversation waits, or has gone on
      this.waiting.refresh();
    });
  }

  protected answer(run: string, call: string, value: JsonValue): void {
    this.sent.set(call, value);
    this.waiting.answer(run, call, value);
  }

  protected textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
}
