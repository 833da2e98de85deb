import type { JsonObject } from '../../core/json/json.js';
import { remoteRunError, type RemoteRunError } from '../../transport/fromServerSentEvents.js';

/** Only descriptions that this service has written for a browser. */
const descriptions = /* @__PURE__ */ new WeakMap<object, JsonObject>();

export function describedError(description: JsonObject): RemoteRunError {
  return keepDescription(remoteRunError(description));
}

/** For an error from the service's own log. Another server's description is not trusted. */
export function keepDescription<E extends RemoteRunError>(error: E): E {
  if (error.description) descriptions.set(error, error.description);
  return error;
}

export const descriptionOf = (thrown: unknown): JsonObject | undefined =>
  typeof thrown === 'object' && thrown !== null ? descriptions.get(thrown) : undefined;
