import { afterRenderEffect, Component, inject, linkedSignal, signal, untracked, viewChild } from '@angular/core';
import type { ElementRef } from '@angular/core';
import { Chat } from './chat';
import { Chats } from './chats';
import { Composer } from './composer';
import { Exchange } from './exchange';
import { answerOf, inputText } from './text';
import { applyTheme, restoreTheme } from './theme';
import { Waiting } from './waiting';

const suggestions = [
  'What can you do?',
  'How many primes are there below 20 million?',
  'Save a note: buy milk',
  'What time is it here?',
  'Let me choose a colour',
  'Register a visitor',
  'Write a long text',
];

@Component({
  selector: 'app-root',
  imports: [Chats, Composer, Exchange, Waiting],
  host: { '(document:keydown.escape)': 'escape()' },
  template: `
    <aside [class.open]="isListOpen()" id="chats"><app-chats (opened)="isListOpen.set(false)" /><app-waiting /></aside>
    <main>
      <header class="bar">
        <button
          class="quiet menu"
          aria-controls="chats"
          [attr.aria-expanded]="isListOpen()"
          (click)="isListOpen.set(!isListOpen())"
        >
          Chats
        </button>
        <h1 dir="auto">{{ chat.chats.title() || 'New chat' }}</h1>
        <button class="quiet" (click)="switchTheme()">{{ theme() === 'dark' ? 'Light' : 'Dark' }} mode</button>
      </header>
      <div
        #log
        class="log"
        tabindex="0"
        role="log"
        aria-live="off"
        aria-label="Conversation"
        [attr.aria-busy]="isBusy()"
        (scroll)="noteScroll(log)"
      >
        <div class="column">
          @for (exchange of chat.current.exchanges(); track exchange.versions[0]) {
            <app-exchange [exchange]="exchange" />
          } @empty {
            <div class="welcome">
              <h2>What would you like to know?</h2>
              <p>Each of these shows something a chat needs.</p>
              <ul>
                @for (suggestion of suggestions; track suggestion) {
                  <li>
                    <button (click)="chat.current.send(suggestion)">{{ suggestion }}</button>
                  </li>
                }
              </ul>
            </div>
          }
          @for (input of chat.current.queued(); track $index) {
            <div class="prompt queued">
              <p dir="auto">{{ inputText(input) }}</p>
              <span>Queued</span>
            </div>
          }
        </div>
      </div>
      @if (chat.current.storageError()) {
        <p class="hint" role="alert">This browser stores nothing more: the conversation ends with this page.</p>
      }
      <app-composer />
    </main>
    <p class="visually-hidden" role="status">{{ announcement() || chat.announced() }}</p>
  `,
})
export class App {
  protected readonly chat = inject(Chat);
  protected readonly suggestions = suggestions;
  protected readonly inputText = inputText;
  protected readonly isListOpen = signal(false);
  protected readonly theme = signal(restoreTheme());
  protected readonly isBusy = this.chat.current.isBusy;
  /** For a screen reader: each answer once, when it is complete; not word by word, and not what a reload shows. */
  protected readonly announcement = linkedSignal<boolean, string>({
    source: this.isBusy,
    computation: (isBusy, previous) => {
      const { status, exchanges } = untracked(this.chat.current.view);
      const last = exchanges.at(-1);
      return previous?.source && !isBusy && last && status === 'idle' ? answerOf(last) : '';
    },
  });
  private readonly log = viewChild.required<ElementRef<HTMLElement>>('log');
  private isAtEnd = true;

  constructor() {
    afterRenderEffect(() => {
      this.chat.current.view();
      const { nativeElement } = this.log();
      if (this.isAtEnd) nativeElement.scrollTop = nativeElement.scrollHeight;
    });
  }

  protected noteScroll({ scrollTop, scrollHeight, clientHeight }: HTMLElement): void {
    this.isAtEnd = scrollHeight - scrollTop - clientHeight < 40;
  }

  /** A dialog or a field that is open takes the key for itself. */
  protected escape(): void {
    if (document.querySelector('dialog[open], .edit')) return;
    if (this.isListOpen()) this.isListOpen.set(false);
    else if (this.isBusy()) this.chat.current.stop();
  }

  protected switchTheme(): void {
    this.theme.update((theme) => (theme === 'dark' ? 'light' : 'dark'));
    applyTheme(this.theme());
  }
}
