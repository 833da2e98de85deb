import { tap, type MonoTypeOperatorFunction } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';

const events = /* @__PURE__ */ new WeakSet<StreamEvent>();

/** Marks events of an earlier executor that are repeated for readers: they count only once. */
export const replayed = (): MonoTypeOperatorFunction<StreamEvent> => tap((event) => void events.add(event));

export const isReplayed = (event: StreamEvent): boolean => events.has(event);
