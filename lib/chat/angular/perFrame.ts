import { animationFrames, race, throttle, timer, type MonoTypeOperatorFunction } from 'rxjs';

/** Milliseconds: a page in the background has no animation frames. */
const BACKGROUND_INTERVAL = 100;

/** At most one value per animation frame: a model sends up to 2,000 tokens per second. The last one always. */
export const perFrame = <T>(): MonoTypeOperatorFunction<T> =>
  throttle(() => race(animationFrames(), timer(BACKGROUND_INTERVAL)), { leading: true, trailing: true });
