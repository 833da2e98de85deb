import type { Capability } from '../../core/capabilities.js';
import type { Capabilities } from '../../core/model.js';

/** Most services have all of them: a provider names the exceptions. */
export const allCapabilities = {
  tools: true,
  multiToolCalls: true,
  typedOutput: true,
  typedOutputWithTools: true,
  thinking: true,
  vision: true,
  files: true,
} satisfies Capabilities;

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
