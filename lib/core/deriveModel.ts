import { requireCapabilities } from './capabilities.js';
import type { Model, ModelRequest } from './model.js';
import { obeyStop } from './response.js';

/** Models that are made of several models, and decide for each request which of them can serve it. */
const compositeModels = /* @__PURE__ */ new WeakSet<Model>();

/**
 * Creates a model with the description of another one, and its own stream, which obeys the `stop` of its requests.
 *
 * @param model The model that is described: its provider, its name and its capabilities.
 * @param stream The stream.
 */
export function deriveModel(model: Model, stream: Model['stream']): Model {
  const { provider, name, capabilities } = model;
  const derived = { provider, name, ...(capabilities && { capabilities }), stream: obeyStop(stream) };
  if (compositeModels.has(model)) compositeModels.add(derived);
  return derived;
}

/** Marks a model as composite: `requireServable` leaves the check of a request to it. */
export function markComposite(model: Model): Model {
  compositeModels.add(model);
  return model;
}

/**
 * Checks that a model can serve a request. A composite model checks it for each of its models.
 *
 * @throws ConfigurationError `capability` for the first required capability that is declared false.
 */
export function requireServable(model: Model, request: ModelRequest): void {
  if (!compositeModels.has(model)) requireCapabilities(model, request);
}
