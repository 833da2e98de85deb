import { concatWith, defer, from, NEVER, ReplaySubject, take, using } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import type { Model } from '../core/model.js';
import { stopOn } from '../operators/stopOn.js';

/**
 * Subscribes to a notifier once, for the duration of a run, and remembers its value for late subscribers.
 *
 * @param notifier The notifier.
 * @param run Receives an Observable of the notifier's first value, and returns the run.
 */
export function rememberStop<T>(
  notifier: ObservableInput<unknown>,
  run: (stop: Observable<unknown>) => Observable<T>,
): Observable<T> {
  return defer(() => {
    const stop = new ReplaySubject<unknown>(1);
    return using(
      () => from(notifier).pipe(take(1), concatWith(NEVER)).subscribe(stop),
      () => run(stop),
    );
  });
}

/** A model whose streams `stopOn` ends. Unlike an operator inside a turn, it works in any orchestrator. */
export function stoppable(model: Model, stop: Observable<unknown>): Model {
  const { provider, name, capabilities } = model;
  return {
    provider,
    name,
    ...(capabilities && { capabilities }),
    stream: (request) => model.stream(request).pipe(stopOn<Chunk>(stop)),
  };
}
