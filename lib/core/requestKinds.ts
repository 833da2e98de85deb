import type { ModelRequest, RequestSettings } from './model.js';
import type { OptionKinds } from './requireOptions.js';

/** The ranges are the provider's: what JSON can contain is sent. */
export const settingKinds: OptionKinds<RequestSettings> = {
  temperature: 'number',
  topP: 'number',
  maxOutputTokens: 'number',
  stopSequences: 'array',
  seed: 'number',
  thinking: ['boolean', { effort: 'string', budget: 'number' }],
  parallelToolCalls: 'boolean',
  providerOptions: 'object',
};

// A function, since a bundler keeps an object with a spread.
const createRequestKinds = (): OptionKinds<ModelRequest> => ({
  messages: 'array',
  tools: 'array',
  toolChoice: ['string', { name: 'string' }],
  output: 'object',
  stop: 'Observable',
  ...settingKinds,
});

export const requestKinds: OptionKinds<ModelRequest> = /* @__PURE__ */ createRequestKinds();
