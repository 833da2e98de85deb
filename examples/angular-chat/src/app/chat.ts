import { effect, Injectable } from '@angular/core';
import { toSignal } from '@angular/core/rxjs-interop';
import { conversation, remoteAgent } from 'rivulet';
import type { Conversation, ConversationView, SavedConversation } from 'rivulet';
import { animationFrameScheduler, auditTime, BehaviorSubject, startWith, switchMap, tap } from 'rxjs';
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
        this.current = conversation(this.agent, { saved: read<SavedConversation>(id), tools: browserTools });
        const { current } = this;
        return current.view$.pipe(
          tap((view) => shallSave(view) && write(id, current.save())),
          auditTime(0, animationFrameScheduler),
          startWith(current.view),
        );
      }),
    );
  }
}

/** What is saved changes when a run starts, waits or ends. */
const shallSave = ({ status, exchanges }: ConversationView) =>
  exchanges.length > 0 && !['thinking', 'streaming', 'runningTools'].includes(status);
