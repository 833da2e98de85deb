import {
  afterNextRender,
  Component,
  computed,
  inject,
  Injector,
  input,
  linkedSignal,
  signal,
  viewChild,
} from '@angular/core';
import type { ElementRef } from '@angular/core';
import type { ExchangeView } from 'rivulet/chat';
import { Chat } from './chat';
import { Markdown } from './markdown';
import { answerOf, promptOf } from './text';
import { ToolCall } from './tool-call';

/** A prompt and its answer. */
@Component({
  selector: 'app-exchange',
  imports: [Markdown, ToolCall],
  template: `
    @if (draft() === undefined) {
      <div class="prompt">
        <p dir="auto">{{ prompt() }}</p>
        <button #editButton class="quiet" (click)="edit()" aria-label="Edit this message">Edit</button>
      </div>
    } @else {
      <form class="edit" (submit)="$event.preventDefault(); sendDraft(text.value)" (keydown.escape)="cancel()">
        <textarea
          #text
          dir="auto"
          aria-label="Edit your message"
          [value]="draft()"
          (keydown.enter)="sendOnEnter($event, text.value)"
        ></textarea>
        <button type="button" (click)="cancel()">Cancel</button>
        <button class="primary">Send</button>
      </form>
    }
    <div class="answer">
      @for (part of answer(); track $index) {
        @switch (part.type) {
          @case ('text') {
            <app-markdown [text]="part.text" [isGrowing]="$last && exchange().status === 'streaming'" />
          }
          @case ('thinking') {
            <details class="thinking" [open]="exchange().status === 'thinking' && $last">
              <summary>{{ exchange().status === 'thinking' && $last ? 'Thinking' : 'Thoughts' }}</summary>
              <p>{{ part.text }}</p>
            </details>
          }
          @case ('toolCall') {
            <app-tool-call [call]="part" />
          }
          @case ('source') {
            <p class="source">Source: {{ part.title ?? part.url }}</p>
          }
        }
      }
      @if (exchange().historyLost) {
        <p class="hint">The service has lost earlier answers: the model read only your messages.</p>
      }
      @if (exchange().retry; as retry) {
        <p class="notice">
          The model does not answer. Trying again in {{ retry.delay / 1000 }} s (attempt {{ retry.attempt }}).
        </p>
      } @else if (exchange().status === 'sending') {
        <p class="dots" aria-hidden="true"><span></span><span></span><span></span></p>
      }
      @if (exchange().status === 'stopped') {
        <p class="notice">You stopped this answer.</p>
      }
      @if (exchange().notice; as notice) {
        <p class="notice" role="status">{{ notice['message'] }}</p>
      }
      @if (exchange().error; as error) {
        <div class="error" role="alert">
          <p>
            <strong>{{ exchange().isIncomplete ? 'This answer is not complete.' : 'This answer failed.' }}</strong>
            {{ error['message'] }}
          </p>
          @if (exchange().isIncomplete) {
            <button (click)="chat.current.reconnect()">Connect again</button>
          }
          <button (click)="regenerate()">Try again</button>
        </div>
      }
    </div>
    @if (isDone()) {
      <div class="actions">
        @if (exchange().versions.length > 1) {
          <span class="versions" role="group" aria-label="Versions">
            <button class="quiet" aria-label="Previous version" [disabled]="version() === 0" (click)="show(-1)">
              ‹
            </button>
            {{ version() + 1 }} / {{ exchange().versions.length }}
            <button
              class="quiet"
              aria-label="Next version"
              [disabled]="version() === exchange().versions.length - 1"
              (click)="show(1)"
            >
              ›
            </button>
          </span>
        }
        @if (answer().length > 0) {
          <button class="quiet" (click)="copy()">{{ copied() ? 'Copied' : 'Copy' }}</button>
        }
        @if (!exchange().error) {
          <button class="quiet" (click)="regenerate()">Regenerate</button>
        }
        @if (exchange().usage.output; as tokens) {
          <span class="tokens">{{ tokens }} tokens</span>
        }
      </div>
    }
  `,
})
export class Exchange {
  readonly exchange = input.required<ExchangeView>();
  protected readonly chat = inject(Chat);
  private readonly injector = inject(Injector);
  private readonly field = viewChild<ElementRef<HTMLElement>>('text');
  private readonly editButton = viewChild<ElementRef<HTMLElement>>('editButton');
  protected readonly draft = signal<string | undefined>(undefined);
  protected readonly copied = linkedSignal({ source: this.exchange, computation: () => false });
  protected readonly prompt = computed(() => promptOf(this.exchange()));
  protected readonly answer = computed(
    () => this.exchange().messages.find(({ role }) => role === 'model')?.parts ?? [],
  );
  protected readonly version = computed(() => this.exchange().versions.indexOf(this.exchange().id));
  protected readonly isDone = computed(() => ['idle', 'stopped', 'failed'].includes(this.exchange().status));

  protected regenerate(): void {
    this.chat.current.regenerate(this.exchange().id);
  }

  protected show(step: 1 | -1): void {
    const id = this.exchange().versions[this.version() + step];
    if (id !== undefined) this.chat.current.select(id);
  }

  protected edit(): void {
    this.draft.set(this.prompt());
    this.focusLater(this.field);
  }

  protected cancel(): void {
    this.draft.set(undefined);
    this.focusLater(this.editButton);
  }

  protected sendOnEnter(event: Event, text: string): void {
    if ((event as KeyboardEvent).shiftKey || (event as KeyboardEvent).isComposing) return;
    event.preventDefault();
    this.sendDraft(text);
  }

  protected sendDraft(text: string): void {
    if (text.trim() === '') return;
    this.draft.set(undefined);
    this.chat.current.edit(this.exchange().id, text.trim());
  }

  private focusLater(element: () => ElementRef<HTMLElement> | undefined): void {
    afterNextRender(() => element()?.nativeElement.focus(), { injector: this.injector });
  }

  protected copy(): void {
    void navigator.clipboard.writeText(answerOf(this.exchange())).then(() => this.copied.set(true));
  }
}
