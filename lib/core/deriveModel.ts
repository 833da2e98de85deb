import { requireCapabilities } from './capabilities.js';
import type { Model, ModelRequest } from './model.js';
import { obeyStop } from './response.js';

const compositeModels = /* @__PURE__ */ new WeakSet<Model>();

/** The stream of the new model obeys the `stop` of its requests. */
export function deriveModel(model: Model, stream: Model['stream']): Model {
  const { provider, name, capabilities } = model;
  const derived = { provider, name, ...(capabilities && { capabilities }), stream: obeyStop(stream) };
  if (compositeModels.has(model)) compositeModels.add(derived);
  return derived;
}

/** A composite model (`fallback`, `hedge`) checks each of its models itself, so `requireServable` skips it. */
export function markComposite(model: Model): Model {
  compositeModels.add(model);
  return model;
}

/** @throws ConfigurationError `capability` for the first required capability that is declared false. */
export function requireServable(model: Model, request: ModelRequest): void {
  if (!compositeModels.has(model)) requireCapabilities(model, request);
}
