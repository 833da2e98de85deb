import { asyncScheduler } from 'rxjs';

/** Virtual time adds a millionth of a millisecond per step, and may lose as much by rounding. */
export const wholeTime = (): number => Math.floor(asyncScheduler.now() + 1e-7);
