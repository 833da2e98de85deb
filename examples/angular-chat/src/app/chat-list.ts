import { computed, inject, Injectable, signal } from '@angular/core';
import { takeUntilDestroyed, toObservable } from '@angular/core/rxjs-interop';
import { catchError, debounceTime, EMPTY, fromEvent, merge, retry, Subject, switchMap, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { chatCopies, remoteChats } from 'rivulet/chat';
import type { ChatSummary } from 'rivulet/chat';
import { Chat } from './chat';
import { changesElsewhere } from './storage';
import { promptOf } from './text';

/** The chats of the user, of all devices, latest change first. This browser has copies of those that it has shown. */
@Injectable({ providedIn: 'root' })
export class ChatList {
  private readonly chat = inject(Chat);
  private readonly chats = remoteChats('/api/chat');
  private readonly copies = chatCopies(this.chats, localStorage);
  private readonly listed = signal<readonly ChatSummary[]>([]);
  private readonly changed = new Subject<void>();
  /** The chats that were in the list: one that is missing was deleted, maybe by another device. */
  private readonly known = new Set<string>();
  /** The current chat is in the list from its first prompt on, before the service has it. */
  readonly entries = computed(() => {
    const [id, first, listed] = [this.chat.id(), this.chat.current.exchanges()[0], this.listed()];
    if (!first || this.known.has(id)) return listed;
    return [{ id, title: promptOf(first), updated: 0, version: 0 }, ...listed];
  });
  readonly title = computed(() => this.entries().find(({ id }) => id === this.chat.id())?.title ?? 'New chat');

  constructor() {
    const shown$ = toObservable(this.chat.shown);
    shown$
      .pipe(
        switchMap(({ id }) => this.keep(id)),
        takeUntilDestroyed(),
      )
      .subscribe(() => this.changed.next());
    merge(shown$, this.changed, fromEvent(window, 'focus'))
      .pipe(
        debounceTime(100),
        switchMap(() => this.chats.list().pipe(catchError(report))),
        takeUntilDestroyed(),
      )
      .subscribe(({ chats }) => {
        for (const { id } of chats) this.known.add(id);
        this.listed.set(chats);
        const current = chats.find(({ id }) => id === this.chat.id());
        const isOld = current && this.copies.read(current.id) && this.copies.isOld(current);
        if (isOld && !this.chat.current.isBusy()) this.open(current); // another device has continued it
      });
  }

  /** Shows a chat: its copy, unless the service has a newer version of it. */
  open(entry: ChatSummary): void {
    if (!this.copies.isOld(entry)) this.chat.open(entry.id);
    else this.copies.fetch(entry.id).subscribe({ next: () => this.chat.open(entry.id), error: console.warn });
  }

  rename({ id, title }: ChatSummary): void {
    const chosen = prompt('The title of the chat', title)?.trim();
    if (chosen) this.chats.rename(id, chosen).subscribe({ next: () => this.changed.next(), error: console.warn });
  }

  remove({ id }: ChatSummary): void {
    this.chats.delete(id).subscribe({ complete: () => this.changed.next(), error: console.warn });
    this.copies.remove(id);
    if (id === this.chat.id()) this.chat.open();
  }

  /** Writes the copy of a chat to the service, as long as the chat is shown. */
  private keep(id: string): Observable<unknown> {
    return this.copies
      .keep(id, merge(this.chat.current.saved$, changesElsewhere(id)))
      .pipe(
        retry({ delay: (error) => (error.retryable ? timer(10_000) : throwError(() => error)) }),
        catchError(report),
      );
  }
}

function report(error: unknown): Observable<never> {
  console.warn(error);
  return EMPTY;
}
