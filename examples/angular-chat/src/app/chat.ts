import { effect, Injectable, signal } from '@angular/core';
import { pageTools } from 'rivulet';
import { injectConversation } from 'rivulet/angular';
import { read, write } from './storage';
import { browserTools } from './tools';

/** The conversation that is shown. It is kept in localStorage, and the same in all tabs. */
@Injectable({ providedIn: 'root' })
export class Chat {
  readonly id = signal(read<string>('open') ?? crypto.randomUUID());
  /** The signals, and what sends, stops, regenerates, edits, selects, decides, answers and cancels. */
  readonly current = injectConversation({ key: this.id, tools: pageTools(browserTools) });

  constructor() {
    effect(() => write('open', this.id()));
  }

  open(id: string = crypto.randomUUID()): void {
    this.id.set(id);
  }
}
