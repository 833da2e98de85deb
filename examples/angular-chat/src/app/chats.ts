import { Component, inject, output } from '@angular/core';
import type { ChatEntry } from 'rivulet/angular';
import { Chat } from './chat';

/** The list of conversations. */
@Component({
  selector: 'app-chats',
  template: `
    <button class="new" (click)="chats.open(); opened.emit()">New chat</button>
    <nav aria-label="Conversations">
      <ul>
        @for (entry of chats.entries(); track entry.id) {
          <li>
            <button
              class="entry"
              dir="auto"
              [class.unread]="entry.isUnread"
              [attr.aria-current]="entry.isShown ? 'page' : null"
              (click)="chats.open(entry.id); opened.emit()"
            >
              {{ entry.title }}
              @if (entry.isUnread) {
                <span class="visually-hidden">, unread</span>
              }
            </button>
            <button class="quiet remove" [attr.aria-label]="'Rename ' + entry.title" (click)="rename(entry)">✎</button>
            <button class="quiet remove" [attr.aria-label]="'Delete ' + entry.title" (click)="chats.delete(entry.id)">
              ×
            </button>
          </li>
        }
      </ul>
    </nav>
    @for (entry of chats.deleted(); track entry.id) {
      <button class="quiet undo" (click)="chats.restore(entry.id); opened.emit()">Restore “{{ entry.title }}”</button>
    }
  `,
})
export class Chats {
  protected readonly chats = inject(Chat).chats;
  readonly opened = output();

  protected rename({ id, title }: ChatEntry): void {
    const chosen = prompt('The title of the chat', title)?.trim();
    if (chosen) this.chats.rename(id, chosen);
  }
}
