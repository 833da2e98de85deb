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

/** Only names, so that one provider bundles no other. The registry's spec compares it with the models. */
export const capabilityTable: Readonly<Record<Capability, readonly string[]>> = {
  tools: allProviders,
  multiToolCalls: allProviders,
  typedOutput: allProviders,
  typedOutputWithTools: /* @__PURE__ */ allExcept('together', 'ollama', 'mistral', 'cohere'),
  thinking: allProviders,
  vision: allProviders,
  files: /* @__PURE__ */ allExcept('together', 'ollama', 'cohere'),
};
