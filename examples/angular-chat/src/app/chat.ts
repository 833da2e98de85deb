import { Injectable, signal } from '@angular/core';
import { injectChats } from 'rivulet/angular';
import { pageTools, remoteChats } from 'rivulet/chat';
import { browserTools } from './tools';

/** The chats of the user, of all devices, and the one that is shown. */
@Injectable({ providedIn: 'root' })
export class Chat {
  readonly chats = injectChats({ chats: remoteChats('/api/chat'), tools: pageTools(browserTools) });
  /** The signals, and what sends, stops, regenerates, edits, selects, decides, answers and cancels. */
  readonly current = this.chats.current;
  /** What a screen reader says next, beside the answers. */
  readonly announced = signal('');
}
