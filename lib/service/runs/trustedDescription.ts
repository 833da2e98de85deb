import type { JsonObject } from '../../core/json/json.js';
import { remoteRunError } from '../../transport/fromServerSentEvents.js';
import type { RemoteRunError } from '../../transport/fromServerSentEvents.js';

/** The descriptions that this service, or another process of it, has written for a browser. */
const descriptions = /* @__PURE__ */ new WeakMap<object, JsonObject>();

/** Creates the error of a run from the description in its record. */
export function describedError(description: JsonObject): RemoteRunError {
  return keepDescription(remoteRunError(description));
}

/** Marks an error from the service's own log. Another server's description is not trusted. */
export function keepDescription<E extends RemoteRunError>(error: E): E {
  if (error.description) descriptions.set(error, error.description);
  return error;
}

/** The description of an error that a process of this service has written; undefined for any other error. */
export const descriptionOf = (thrown: unknown): JsonObject | undefined =>
  typeof thrown === 'object' && thrown !== null ? descriptions.get(thrown) : undefined;
