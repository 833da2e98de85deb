import { Component, inject, output } from '@angular/core';
import { Chat } from './chat';
import { Titles } from './titles';

/** The list of conversations. */
@Component({
  selector: 'app-chats',
  template: `
    <button class="new" (click)="chat.open(); opened.emit()">New chat</button>
    <nav aria-label="Conversations">
      <ul>
        @for (entry of titles.list(); track entry.id) {
          <li>
            <button
              class="entry"
              [attr.aria-current]="entry.id === chat.id() ? 'page' : null"
              (click)="chat.open(entry.id); opened.emit()"
            >
              {{ entry.title }}
            </button>
            <button class="quiet remove" [attr.aria-label]="'Delete ' + entry.title" (click)="titles.remove(entry.id)">
              ×
            </button>
          </li>
        }
      </ul>
    </nav>
  `,
})
export class Chats {
  protected readonly chat = inject(Chat);
  protected readonly titles = inject(Titles);
  readonly opened = output();
}
