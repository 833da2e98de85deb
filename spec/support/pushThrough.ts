import { Subject } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';

/** Passes chunks through an operator one by one, so that a spec sees what is held back. `release` completes them. */
export function pushThrough(operator: MonoTypeOperatorFunction<Chunk>, emit: (chunk: Chunk) => void) {
  const chunks = new Subject<Chunk>();
  chunks.pipe(operator).subscribe(emit);
  return { next: (chunk: Chunk) => chunks.next(chunk), release: () => chunks.complete() };
}
