import type { Capability } from '../../core/capabilities.js';

const allProviders = [
  'openai',
  'openai-chat',
  'openrouter',
  'together',
  'anthropic',
  'google',
  'ollama',
  'mistral',
  'cohere',
] as const;
const allExcept = (...names: readonly (typeof allProviders)[number][]): readonly string[] =>
  allProviders.filter((name) => !names.includes(name));

/**
 * The providers that have models with a capability, for the error about a model that lacks the capability. The table
 * contains only names, so that bundling one provider does not bundle the others. The registry's spec compares the table
 * with the capabilities of the providers' models.
 */
export const capabilityTable: Readonly<Record<Capability, readonly string[]>> = {
  tools: allProviders,
  multiToolCalls: allProviders,
  typedOutput: allProviders,
  typedOutputWithTools: /* @__PURE__ */ allExcept('together', 'ollama', 'mistral', 'cohere'),
  thinking: allProviders,
  vision: allProviders,
  files: /* @__PURE__ */ allExcept('together', 'ollama', 'cohere'),
};
