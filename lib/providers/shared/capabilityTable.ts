import type { Capability } from '../../core/capabilities.js';

const all = [
  'openai',
  'openai-responses',
  'openrouter',
  'together',
  'anthropic',
  'google',
  'ollama',
  'mistral',
  'cohere',
] as const;
const without = (...names: readonly (typeof all)[number][]): readonly string[] =>
  all.filter((name) => !names.includes(name));

/**
 * The providers that have models with a capability: for the error that is raised when a model has it not. Names only, so that no provider bundles another. The
 * registry's spec holds it against what the providers' models say of themselves.
 */
export const capabilityTable: Readonly<Record<Capability, readonly string[]>> = {
  tools: all,
  multiToolCalls: all,
  typedOutput: all,
  typedOutputWithTools: /* @__PURE__ */ without('together', 'ollama', 'mistral', 'cohere'),
  thinking: all,
  vision: all,
  files: /* @__PURE__ */ without('together', 'ollama', 'cohere'),
};
