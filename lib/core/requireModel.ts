import { modelError } from './errors.js';
import type { Model } from './model.js';

/** @throws ConfigurationError `model` for what JavaScript may pass; `problem` says what it is. */
export function requireModel(model: unknown, problem: string): void {
  if (typeof (model as Partial<Model> | null | undefined)?.stream === 'function') return;
  throw modelError(
    typeof model === 'string' ? `"${model}" is the name of a model, not a model.` : problem,
    "Pass what a provider's function returns: openai('gpt-6.1-terra'), or modelByName(name) from rivulet/registry.",
  );
}
