import { Component, computed, inject, output } from '@angular/core';
import { Chat } from './chat';

/** The list of conversations. */
@Component({
  selector: 'app-chats',
  template: `
    <button class="new" (click)="chat.open(); opened.emit()">New chat</button>
    <nav aria-label="Conversations">
      <ul>
        @for (entry of entries(); track entry.id) {
          <li>
            <button
              class="entry"
              [attr.aria-current]="entry.id === chat.id() ? 'page' : null"
              (click)="chat.open(entry.id); opened.emit()"
            >
              {{ entry.title }}
            </button>
            <button class="quiet remove" [attr.aria-label]="'Delete ' + entry.title" (click)="chat.remove(entry.id)">
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
  readonly opened = output();
  protected readonly entries = computed(() => Object.entries(this.chat.titles()).map(([id, title]) => ({ id, title })));
}
