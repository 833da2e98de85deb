import type { JsonObject } from '../../core/json/json.js';
import { remoteRunError, type RemoteRunError } from '../../transport/fromServerSentEvents.js';
import { ExecutorLostError } from './runErrors.js';

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

/** A run could not begin, and nothing of it is kept: the run that it resumes waits on. */
export class NotBegunError extends ExecutorLostError {
  constructor(description: JsonObject) {
    super();
    descriptions.set(this, description);
  }
}

export const descriptionOf = (thrown: unknown): JsonObject | undefined =>
  typeof thrown === 'object' && thrown !== null ? descriptions.get(thrown) : undefined;
