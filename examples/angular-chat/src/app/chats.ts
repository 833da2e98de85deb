import { Component, inject, output } from '@angular/core';
import { Chat } from './chat';
import { ChatList } from './chat-list';

/** The list of conversations. */
@Component({
  selector: 'app-chats',
  template: `
    <button class="new" (click)="chat.open(); opened.emit()">New chat</button>
    <nav aria-label="Conversations">
      <ul>
        @for (entry of list.entries(); track entry.id) {
          <li>
            <button
              class="entry"
              [attr.aria-current]="entry.id === chat.id() ? 'page' : null"
              (click)="list.open(entry); opened.emit()"
            >
              {{ entry.title }}
            </button>
            <button class="quiet remove" [attr.aria-label]="'Rename ' + entry.title" (click)="list.rename(entry)">
              ✎
            </button>
            <button class="quiet remove" [attr.aria-label]="'Delete ' + entry.title" (click)="list.remove(entry)">
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
  protected readonly list = inject(ChatList);
  readonly opened = output();
}
