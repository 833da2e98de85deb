import { effect, Injectable } from '@angular/core';
import { toSignal } from '@angular/core/rxjs-interop';
import { conversation, pageTools, persist, remoteAgent } from 'rivulet';
import type { Conversation, ConversationView } from 'rivulet';
import {
  animationFrameScheduler,
  auditTime,
  BehaviorSubject,
  catchError,
  EMPTY,
  ignoreElements,
  merge,
  startWith,
  switchMap,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { changesElsewhere, read, write } from './storage';
import { browserTools } from './tools';

/** The conversation that is shown. It is kept in localStorage, and the same in all tabs. */
@Injectable({ providedIn: 'root' })
export class Chat {
  private readonly agent = remoteAgent('/api/chat');
  private readonly id$ = new BehaviorSubject(read<string>('open') ?? crypto.randomUUID());
  readonly id = toSignal(this.id$, { requireSync: true });
  /** Sends, stops, regenerates, edits, selects, decides, answers. */
  current!: Conversation;
  readonly view = toSignal(this.id$.pipe(switchMap((id) => this.connect(id))), { requireSync: true });

  constructor() {
    effect(() => write('open', this.id()));
  }

  open(id: string = crypto.randomUUID()): void {
    this.id$.next(id);
  }

  /** Shows a stored conversation; joins its run, if one goes on at the service; follows the other tabs. */
  private connect(id: string): Observable<ConversationView> {
    return changesElsewhere(id).pipe(
      startWith(undefined),
      switchMap(() => {
        const saved = localStorage.getItem(id);
        const current = conversation(this.agent, { saved, tools: pageTools(browserTools) });
        this.current = current;
        const views = current.view$.pipe(auditTime(0, animationFrameScheduler), startWith(current.view));
        return merge(views, stored(current, id));
      }),
    );
  }
}

/** Stores the conversation. A browser without room keeps what it has, and the conversation continues. */
const stored = (chat: Conversation, id: string): Observable<never> =>
  persist(chat, localStorage, id).pipe(
    ignoreElements(),
    catchError((error: unknown) => {
      console.warn(`The browser has no room left for ${id}:`, error);
      return EMPTY;
    }),
  );
