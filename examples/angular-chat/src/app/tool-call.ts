import { JsonPipe } from '@angular/common';
import { Component, computed, inject, input } from '@angular/core';
import type { JsonObject, JsonValue, OfType, PartView } from 'rivulet';
import { Approval } from './approval';
import { Chat } from './chat';
import { Markdown } from './markdown';
import { QuestionForm } from './question';
import { applyColour } from './theme';
import { browserTools } from './tools';

/** Tools that wait for something else than an approval. */
const answeredHere = ['choose_colour', ...browserTools.map(({ name }) => name)];

const statusTexts: Readonly<Record<OfType<PartView, 'toolCall'>['status'], string>> = {
  receiving: 'The model writes the call',
  pending: 'Waits for its turn',
  waiting: 'Waits for you',
  running: 'Running',
  completed: 'Done',
  denied: 'Denied',
  cancelled: 'Cancelled',
  failed: 'Failed',
};

/** A tool call, with its progress and its result. */
@Component({
  selector: 'app-tool-call',
  imports: [Approval, JsonPipe, Markdown, QuestionForm],
  template: `
    <div class="tool" role="group" [attr.data-status]="call().status" [attr.aria-label]="'Tool ' + call().name">
      <header>
        <span class="mark" aria-hidden="true"></span>
        <code>{{ call().name }}</code>
        <span class="status">{{ statusText() }}</span>
        @if (call().status === 'running') {
          <button class="quiet" [attr.aria-label]="'Cancel ' + call().name" (click)="cancel()">Cancel</button>
        }
      </header>
      @if (percent(); as value) {
        <progress max="100" [value]="value" [attr.aria-label]="'Progress of ' + call().name"></progress>
      }
      @if (progressText(); as text) {
        <p class="progress">{{ text }}</p>
      }
      @if (colours(); as choices) {
        <div class="colours" role="group" aria-label="Choose a colour">
          @for (colour of choices; track colour) {
            <button (click)="choose(colour)"><span [style.background-color]="colour"></span>{{ colour }}</button>
          }
        </div>
      }
      @if (question(); as question) {
        <app-question
          [id]="'question-' + call().id"
          [question]="question"
          [isLive]="true"
          [isSent]="call().status !== 'waiting'"
          (answered)="answer($event)"
          (declined)="decline()"
        />
      }
      @if (given(); as answer) {
        <p class="message" dir="auto">{{ answer.message }}</p>
        @if (answer.isOfOther) {
          <p class="notice" role="status">Another device has answered before this one.</p>
        }
        <dl class="given">
          @for (entry of answer.entries; track entry.name) {
            <dt dir="auto">{{ entry.name }}</dt>
            <dd dir="auto">{{ entry.value }}</dd>
          }
        </dl>
      }
      @if (needsApproval()) {
        <app-approval [call]="call()" />
      }
      @if (nested(); as parts) {
        <div class="nested" role="group" [attr.aria-label]="'The agent behind ' + call().name">
          @for (part of parts; track $index) {
            @switch (part.type) {
              @case ('text') {
                <app-markdown [text]="part.text" />
              }
              @case ('toolCall') {
                <app-tool-call [call]="part" />
              }
            }
          }
        </div>
      }
      <details>
        <summary>Details</summary>
        <dl>
          <dt>Arguments</dt>
          <dd>
            <pre tabindex="0">{{ call().arguments | json }}</pre>
          </dd>
          @if (call().result !== undefined) {
            <dt>Result</dt>
            <dd>
              <pre tabindex="0">{{ call().result | json }}</pre>
            </dd>
          }
          @if (call().error; as error) {
            <dt>Error</dt>
            <dd>{{ error }}</dd>
          }
        </dl>
      </details>
    </div>
  `,
})
export class ToolCall {
  readonly call = input.required<OfType<PartView, 'toolCall'>>();
  private readonly chat = inject(Chat);
  protected readonly percent = computed(() => (this.call().status === 'running' ? percentOf(this.call().progress) : 0));
  protected readonly progressText = computed(() => {
    const { status, progress } = this.call();
    if (status !== 'running' || progress === undefined || this.percent()) return undefined;
    return typeof progress === 'string' ? progress : JSON.stringify(progress);
  });
  protected readonly statusText = computed(() => {
    const { status, reason } = this.call();
    if (this.percent()) return `${this.percent()} %`;
    return reason === undefined ? statusTexts[status] : `${statusTexts[status]}: ${reason}`;
  });
  /** The run of the agent behind the tool. Its calls are shown, and answered, like those of the outer run. */
  protected readonly nested = computed(() => this.call().nested?.messages.flatMap(({ parts }) => parts));
  protected readonly needsApproval = computed(
    () =>
      this.call().status === 'waiting' &&
      !this.call().nested &&
      !this.call().question &&
      !answeredHere.includes(this.call().name),
  );
  /** What a tool asks in the middle of its work, until it has the answer: a refused one can be corrected. */
  protected readonly question = computed(() => this.call().question);
  /** A question that was asked and answered. Its call has the name `ask`, and the message is an argument. */
  protected readonly given = computed(() => {
    const { name, status, result, nested, arguments: args } = this.call();
    const { message } = args;
    if (name !== 'ask' || nested || typeof message !== 'string' || !['completed', 'denied'].includes(status))
      return undefined;
    const isOfOther = this.sent !== undefined && this.sent !== textOf(result);
    return { message, isOfOther, entries: entriesOf(result) };
  });
  /** What was answered here, until the page is left. Another device may have been faster. */
  private sent: string | undefined;
  protected readonly colours = computed(() => {
    const { name, status, arguments: args } = this.call();
    const { colours } = args;
    if (name !== 'choose_colour' || status !== 'waiting' || !Array.isArray(colours)) return undefined;
    // The model has written them: only the name or the code of a colour becomes a style.
    return colours
      .map(String)
      .filter((colour) => /^[\w#(),.%/ -]{1,60}$/.test(colour) && CSS.supports('color', colour));
  });

  /** The run continues: the model reads that the call was cancelled. */
  protected cancel(): void {
    this.chat.current.cancel(this.call().id);
  }

  protected answer(value: JsonValue): void {
    this.sent = textOf(value);
    this.chat.current.answer(this.call().id, value);
  }

  protected decline(): void {
    this.sent = textOf(undefined);
    this.chat.current.decline(this.call().id);
  }

  protected choose(colour: string): void {
    applyColour(colour);
    this.chat.current.answer(this.call().id, colour);
  }
}

function percentOf(progress: JsonValue | undefined): number {
  const value = typeof progress === 'object' && progress !== null && 'percent' in progress ? progress['percent'] : 0;
  return typeof value === 'number' ? Math.round(value) : 0;
}

/** The fields of an answer, for a reader. */
function entriesOf(value: JsonValue | undefined) {
  const fields = Array.isArray(value) || !isObject(value) ? { Answer: value } : value;
  return Object.entries(fields).flatMap(([name, field]) =>
    field === undefined ? [] : [{ name, value: short(readable(field)) }],
  );
}

const readable = (value: JsonValue): string => {
  if (typeof value === 'string') return value;
  const isList = Array.isArray(value) && value.every((each) => typeof each !== 'object');
  return isList ? value.join(', ') : JSON.stringify(value);
};

/** A file is a long text. */
const short = (text: string): string =>
  text.length > 300 ? `${text.slice(0, 100)} … (${text.length.toLocaleString('en')} characters)` : text;

const isObject = (value: JsonValue | undefined): value is JsonObject => typeof value === 'object' && value !== null;

/** The text of a JSON value, whatever the order of its fields: a database may change it. */
const textOf = (value: JsonValue | undefined): string =>
  JSON.stringify(value, (_, field: unknown) =>
    isObject(field as JsonValue) && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field as JsonObject).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  ) ?? '';
