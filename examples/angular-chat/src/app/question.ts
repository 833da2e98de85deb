import {
  afterNextRender,
  afterRenderEffect,
  ApplicationRef,
  Component,
  computed,
  ElementRef,
  inject,
  input,
  output,
  untracked,
} from '@angular/core';
import type { JsonValue, OfType, PartView } from 'rivulet';
import { Chat } from './chat';
import { answerOf, fieldsOf, problemsOf } from './question-fields';
import type { Field } from './question-fields';

type Question = NonNullable<OfType<PartView, 'toolCall'>['question']>;

/**
 * The form of a question, from the JSON schema of its answer. The service validates the answer, and says what is wrong.
 *
 * A question of the conversation receives the focus when it appears, unless the person is busy elsewhere: then it is
 * announced. So a screen reader reads it once.
 */
@Component({
  selector: 'app-question',
  template: `
    <form [inert]="isSent()" (submit)="send($event)">
      <div
        class="question"
        role="group"
        tabindex="-1"
        [attr.aria-labelledby]="id()"
        [attr.aria-describedby]="problems()[''] ? id() + '-problem' : null"
      >
        <p class="message" dir="auto" [id]="id()">{{ question().message }}</p>
        @if (problems()['']; as problem) {
          <p class="problem" role="alert" [id]="id() + '-problem'">{{ problem }}</p>
        }
        @for (field of fields(); track field.name) {
          @let about = describedBy(field);
          @let isWrong = problems()[field.name] && field.name ? 'true' : null;
          <div class="field" [id]="id() + '-' + field.name">
            @switch (field.kind) {
              @case ('many') {
                <fieldset [attr.aria-describedby]="about">
                  <legend dir="auto">{{ field.label }}</legend>
                  @for (choice of field.choices; track $index) {
                    <label class="check" dir="auto"
                      ><input
                        type="checkbox"
                        [name]="field.control"
                        [value]="$index"
                        [checked]="isChosen(field, choice.value)"
                      />{{ choice.label }}</label
                    >
                  }
                </fieldset>
              }
              @case ('yes') {
                <label class="check" dir="auto"
                  ><input
                    type="checkbox"
                    [name]="field.control"
                    [checked]="field.value === true"
                    [attr.aria-describedby]="about"
                  />{{ field.label }}</label
                >
              }
              @case ('one') {
                <label dir="auto"
                  >{{ field.label }}
                  <select
                    [name]="field.control"
                    [required]="field.isRequired"
                    [attr.aria-describedby]="about"
                    [attr.aria-invalid]="isWrong"
                  >
                    <option value="">Choose …</option>
                    @for (choice of field.choices; track $index) {
                      <option [value]="$index" [selected]="isChosen(field, choice.value)">{{ choice.label }}</option>
                    }
                  </select>
                </label>
              }
              @default {
                <label dir="auto"
                  >{{ field.label }}
                  @if (field.kind === 'lines' || field.kind === 'json') {
                    <textarea
                      #text
                      rows="2"
                      dir="auto"
                      [name]="field.control"
                      [required]="field.isRequired"
                      [value]="textOf(field)"
                      [attr.aria-describedby]="about"
                      [attr.aria-invalid]="isWrong"
                      (input)="checkJson(field, text)"
                    ></textarea>
                  } @else {
                    <input
                      step="any"
                      dir="auto"
                      [type]="field.kind"
                      [name]="field.control"
                      [required]="field.isRequired"
                      [value]="textOf(field)"
                      [attr.aria-describedby]="about"
                      [attr.aria-invalid]="isWrong"
                    />
                  }
                </label>
              }
            }
            @if (field.hint) {
              <p class="hint" dir="auto" [id]="id() + '-' + field.name + '-hint'">{{ field.hint }}</p>
            }
            @if (field.kind === 'json') {
              <details>
                <summary>What it has to be</summary>
                <pre tabindex="0">{{ schemaOf(field) }}</pre>
              </details>
            }
            @if (isWrong) {
              <p class="problem" [id]="id() + '-' + field.name + '-problem'">{{ problems()[field.name] }}</p>
            }
          </div>
        }
        <div class="buttons">
          <button type="button" (click)="decline()">Decline</button>
          <button class="primary">Send answer</button>
        </div>
      </div>
    </form>
  `,
})
export class QuestionForm {
  readonly id = input.required<string>();
  readonly question = input.required<Question>();
  /** What was typed before, in a form that is gone. */
  readonly draft = input<JsonValue>();
  readonly isSent = input(false);
  /** Whether it is in the conversation, and not in a list. */
  readonly isLive = input(false);
  readonly answered = output<JsonValue>();
  readonly declined = output();
  private readonly chat = inject(Chat);
  private readonly host = inject<ElementRef<HTMLElement>>(ElementRef);
  private readonly injector = inject(ApplicationRef).injector; // the form may be gone after the answer
  protected readonly fields = computed(() => fieldsOf(this.question().schema, this.draft()));
  protected readonly problems = computed(() => problemsOf(this.question().problem, this.fields()));

  constructor() {
    afterNextRender(() => this.isLive() && !this.isSent() && this.appear());
    afterRenderEffect(() => {
      const { problem } = this.question();
      if (problem !== undefined && !this.isSent()) untracked(() => this.showProblem(problem));
    });
  }

  /** Whoever types, or reads another part of the page, stays there. */
  private appear(): void {
    if (!isFree()) {
      this.chat.announced.set(`Question: ${this.question().message}`);
      return;
    }
    const { nativeElement } = this.host;
    nativeElement.querySelector<HTMLElement>('.question')?.focus({ preventScroll: true });
    nativeElement.querySelector('.message')?.scrollIntoView({ block: 'nearest' });
  }

  private showProblem(problem: string): void {
    const field = this.host.nativeElement.querySelector<HTMLElement>('[aria-invalid]');
    if (field && isFree()) field.focus();
    else if (field) this.chat.announced.set(problem);
  }

  protected async send(event: Event): Promise<void> {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    this.answered.emit(await answerOf(this.question().schema, this.fields(), new FormData(form)));
    this.leave();
  }

  protected decline(): void {
    this.declined.emit();
    this.leave();
  }

  /** The next question has the focus then, or the next message. */
  private leave(): void {
    this.chat.announced.set('');
    const forms = this.isLive() ? '.log form:not([inert]) > .question' : 'app-waiting summary';
    const own = this.host.nativeElement;
    afterNextRender(
      () => {
        const places = [...document.querySelectorAll<HTMLElement>(forms)].filter((place) => !own.contains(place));
        const place = places[0] ?? document.querySelector<HTMLElement>('.composer textarea');
        place?.focus({ preventScroll: place.matches('textarea') });
      },
      { injector: this.injector },
    );
  }

  protected describedBy({ name, hint }: Field): string | null {
    const id = `${this.id()}-${name}`;
    const parts = [hint && `${id}-hint`, name && this.problems()[name] && `${id}-problem`];
    return parts.filter(Boolean).join(' ') || null;
  }

  protected isChosen({ kind, value }: Field, choice: JsonValue): boolean {
    return kind === 'many' && Array.isArray(value) ? value.includes(choice) : value === choice;
  }

  protected textOf({ kind, value }: Field): string {
    if (value === undefined || value === null || kind === 'file') return '';
    if (kind === 'json') return JSON.stringify(value, undefined, 2);
    return Array.isArray(value) ? value.join('\n') : String(value);
  }

  protected schemaOf = ({ schema }: Field): string => JSON.stringify(schema, undefined, 2);

  protected checkJson({ kind }: Field, text: HTMLTextAreaElement): void {
    text.setCustomValidity(kind === 'json' && text.value.trim() !== '' && !isJson(text.value) ? 'Write JSON.' : '');
  }
}

/** Whether the focus is where nobody types, reads or decides. */
const isFree = (): boolean =>
  document.activeElement?.matches('body, .log, .composer textarea:placeholder-shown, .composer button') ?? true;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
