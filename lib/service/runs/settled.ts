import { defer } from 'rxjs';
import type { Observable } from 'rxjs';

export { settled } from '../../core/settled.js';

/** An Observable that fails with a thrown value. */
export const failWith = (thrown: unknown): Observable<never> =>
  defer(() => {
    throw thrown;
  });
