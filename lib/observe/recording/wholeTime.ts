import { asyncScheduler } from 'rxjs';

/**
 * The time of RxJS's clock, in whole milliseconds. A replay in virtual time adds a millionth of a millisecond per step,
 * and may lose as much by rounding.
 */
export const wholeTime = (): number => Math.floor(asyncScheduler.now() + 1e-7);
