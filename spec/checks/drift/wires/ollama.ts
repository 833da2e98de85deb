import type { DriftWire } from '../compare.js';

const ollamaTypes = "import('ollama')";

export const ollama: DriftWire = {
  name: 'ollama',
  sdk: 'ollama',
  files: ['providers/ollama', 'providers/shared/encode.ts'],
  unions: [
    {
      what: 'fields of a response',
      type: `keyof ${ollamaTypes}.ChatResponse`,
      leftOut: [
        { reason: 'times, which the application can measure', values: /^(created_at|.*_duration)$/ },
        { reason: 'no wire reports them', values: ['logprobs'] },
      ],
    },
    { what: 'fields of a message', type: `keyof ${ollamaTypes}.Message` },
    {
      what: 'fields of a request',
      type: `keyof ${ollamaTypes}.ChatRequest`,
      leftOut: [{ reason: 'pass them in providerOptions.ollama', values: ['keep_alive', 'logprobs', 'top_logprobs'] }],
    },
    { what: 'efforts', type: `Extract<${ollamaTypes}.ChatRequest['think'], string>` },
  ],
};
