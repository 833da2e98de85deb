import { effect, Injectable, signal } from '@angular/core';
import { takeUntilDestroyed, toSignal } from '@angular/core/rxjs-interop';
import { conversation, remoteAgent } from 'rivulet';
import type { Conversation, ConversationView, SavedConversation } from 'rivulet';
import {
  animationFrameScheduler,
  auditTime,
  BehaviorSubject,
  filter,
  fromEvent,
  startWith,
  switchMap,
  tap,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { browserTools } from './tools';

/** The conversation that is shown, and the titles of all. Both are kept in localStorage, which the tabs share. */
@Injectable({ providedIn: 'root' })
export class Chat {
  private readonly agent = remoteAgent('/api/chat');
  private readonly id$ = new BehaviorSubject(read<string>('open') ?? crypto.randomUUID());
  current!: Conversation;
  readonly id = toSignal(this.id$, { requireSync: true });
  readonly view = toSignal(this.id$.pipe(switchMap((id) => this.connect(id))), { requireSync: true });
  readonly titles = signal(read<Readonly<Record<string, string>>>('titles') ?? {});

  constructor() {
    effect(() => write('open', this.id()));
    effect(() => write('titles', this.titles()));
    const changed$ = changesElsewhere('titles').pipe(takeUntilDestroyed());
    changed$.subscribe(() => this.titles.set(read('titles') ?? {}));
  }

  send(text: string): void {
    this.current.send(text);
    this.titles.update((titles) => ({ [this.id()]: text, ...titles }));
  }

  open(id: string = crypto.randomUUID()): void {
    this.id$.next(id);
  }

  remove(id: string): void {
    this.titles.update(({ [id]: _, ...others }) => others);
    if (id === this.id()) this.open();
    localStorage.removeItem(id);
  }

  /** Shows a stored conversation; joins its run, if one goes on at the service; follows the other tabs. */
  private connect(id: string): Observable<ConversationView> {
    const reload$ = changesElsewhere(id).pipe(startWith(undefined));
    return reload$.pipe(
      switchMap(() => {
        const saved = read<SavedConversation>(id);
        const chat = (this.current = conversation(this.agent, { saved, tools: browserTools }));
        const saving = tap(({ status }: ConversationView) => isStreaming(status) || write(id, chat.save()));
        return chat.view$.pipe(saving, auditTime(0, animationFrameScheduler), startWith(chat.view));
      }),
    );
  }
}

const isStreaming = (status: string) => status === 'thinking' || status === 'streaming';
const read = <T>(key: string): T | undefined => JSON.parse(localStorage.getItem(key) ?? 'null') ?? undefined;
const write = (key: string, value: unknown) => localStorage.setItem(key, JSON.stringify(value));
const changesElsewhere = (key: string) =>
  fromEvent<StorageEvent>(window, 'storage').pipe(filter((event) => event.key === key));
