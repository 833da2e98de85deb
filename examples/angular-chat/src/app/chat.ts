import { computed, effect, Injectable, signal } from '@angular/core';
import { injectConversation } from 'rivulet/angular';
import { pageTools } from 'rivulet/chat';
import { read, write } from './storage';
import { browserTools } from './tools';

/** The conversation that is shown. It is kept in localStorage, and the same in all tabs. */
@Injectable({ providedIn: 'root' })
export class Chat {
  /** Another object shows the copy in localStorage again, also of the same chat. */
  readonly shown = signal({ id: read<string>('open') ?? crypto.randomUUID() });
  readonly id = computed(() => this.shown().id);
  /** The signals, and what sends, stops, regenerates, edits, selects, decides, answers and cancels. */
  readonly current = injectConversation({ key: () => this.shown().id, tools: pageTools(browserTools) });

  constructor() {
    effect(() => write('open', this.id()));
  }

  open(id: string = crypto.randomUUID()): void {
    this.shown.set({ id });
  }
}
