import type { StreamEvent } from '../../core/event.js';

/**
 * Calls that ended only with a response that was cut, filtered or stopped. They are emitted before its `finish`, which
 * says so: until then, `executeTools` must not start them, also with `eager`.
 */
export const cutCalls = /* @__PURE__ */ new WeakSet<StreamEvent>();
