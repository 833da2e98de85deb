import { animationFrames, race, throttle, timer } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';

/** A page in the background has no animation frames. Its views are shown at this interval, in milliseconds. */
const BACKGROUND_INTERVAL = 100;

/**
 * The first value at once, then at most one per animation frame: the latest. A model sends up to 2,000 tokens per
 * second, and each changes the view. The end of a run is always emitted.
 */
export const perFrame = <T>(): MonoTypeOperatorFunction<T> =>
  throttle(() => race(animationFrames(), timer(BACKGROUND_INTERVAL)), { leading: true, trailing: true });
