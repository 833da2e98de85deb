import type { JsonObject } from '../core/json/json.js';
import type { Message } from '../core/message.js';

/** The bodies of the requests that `omitRefused` watches, by their messages, which models made of models pass on. */
export const sentBodies = /* @__PURE__ */ new WeakMap<readonly Message[], JsonObject | undefined>();
