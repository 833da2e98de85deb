import { computed, effect, inject, Injectable, signal } from '@angular/core';
import { takeUntilDestroyed } from '@angular/core/rxjs-interop';
import { Chat } from './chat';
import { changesElsewhere, read, write } from './storage';
import { promptOf } from './text';

/** The titles of all conversations by their ids, the newest first. A title is the first prompt. */
@Injectable({ providedIn: 'root' })
export class Titles {
  private readonly chat = inject(Chat);
  private readonly all = signal(read<Readonly<Record<string, string>>>('titles') ?? {});
  readonly list = computed(() => Object.entries(this.all()).map(([id, title]) => ({ id, title })));
  readonly current = computed(() => this.all()[this.chat.id()] ?? 'New chat');

  constructor() {
    const started = computed(() => this.chat.current.exchanges()[0]);
    effect(() => {
      const [id, first] = [this.chat.id(), started()];
      if (first) this.all.update((all) => (id in all ? all : { [id]: promptOf(first), ...all }));
    });
    effect(() => write('titles', this.all()));
    changesElsewhere('titles')
      .pipe(takeUntilDestroyed())
      .subscribe(() => this.all.set(read('titles') ?? {}));
  }

  remove(id: string): void {
    this.all.update(({ [id]: _, ...others }) => others);
    if (id === this.chat.id()) this.chat.open();
    localStorage.removeItem(id);
  }
}
