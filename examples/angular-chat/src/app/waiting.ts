import { Component } from '@angular/core';
import { injectWaiting } from 'rivulet/angular';
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
          <h2>{{ run.title }}</h2>
          @for (call of run.waiting; track call.id) {
            @if (call.question; as question) {
              <app-question
                [id]="'problem-' + run.id + call.id"
                [question]="question"
                (answered)="waiting.answer(run.id, call.id, $event)"
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
  `,
})
export class Waiting {
  protected readonly waiting = injectWaiting();
}
