import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { memoryLog } from '../stores/memory/memoryLog.js';
import { RunLife } from './runLife.js';
import type { SharedRun, ShareRunOptions } from './sharedRun.js';

/**
 * Shares one run among any number of subscribers.
 *
 * <span class="informal">Two tabs show one run; closing both does not stop it before the grace time is over.</span>
 *
 * It differs from `share` and `shareReplay` of RxJS in three ways. A run starts at most once, so a question is never
 * sent twice. Consecutive deltas are stored as one text, so a late subscriber receives few events, and the log takes
 * only the memory of the text. And each event has an id from which another reader can continue.
 *
 * ```ts
 * const run = shareRun(agent.stream('How warm is it in Oslo?'), { grace: 30_000 });
 * run.events$.subscribe(showInTab1);
 * run.events$.subscribe(showInTab2); // later: receives what it missed
 * ```
 *
 * @param source The run. It is subscribed once, by the first subscriber or by `start`.
 * @param options `grace` in milliseconds (default: no limit), `stop` (default: the source is unsubscribed).
 * @returns The shared run. The events of a run that has ended remain available while it is referenced.
 */
export function shareRun<E extends StreamEvent>(source: Observable<E>, options: ShareRunOptions = {}): SharedRun<E> {
  return new RunLife((failure) => failure ?? source, {
    ...options,
    log: memoryLog({ maxBytes: Infinity, maxAge: Infinity }),
  });
}
