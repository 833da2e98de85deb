import { Component, inject, signal } from '@angular/core';
import { Chat } from './chat';

/** The field for the next message. While an answer arrives, a message is queued. */
@Component({
  selector: 'app-composer',
  template: `
    <form class="composer" (submit)="$event.preventDefault(); send(text)">
      <textarea
        #text
        rows="1"
        dir="auto"
        aria-label="Your message"
        placeholder="Your message"
        (input)="isEmpty.set(text.value.trim() === '')"
        (keydown.enter)="sendOnEnter($event, text)"
      ></textarea>
      @if (isBusy()) {
        <button type="button" (click)="chat.current.stop()">Stop</button>
      }
      <button class="primary" [disabled]="isEmpty()">{{ isBusy() ? 'Queue' : 'Send' }}</button>
    </form>
    <p class="hint">Enter sends, Shift+Enter starts a new line, Escape stops.</p>
  `,
})
export class Composer {
  protected readonly chat = inject(Chat);
  protected readonly isBusy = this.chat.current.isBusy;
  protected readonly isEmpty = signal(true);

  protected sendOnEnter(event: Event, text: HTMLTextAreaElement): void {
    if ((event as KeyboardEvent).shiftKey || (event as KeyboardEvent).isComposing) return;
    event.preventDefault();
    this.send(text);
  }

  protected send(text: HTMLTextAreaElement): void {
    const prompt = text.value.trim();
    if (prompt === '') return;
    text.value = '';
    this.isEmpty.set(true);
    this.chat.current.send(prompt);
  }
}
