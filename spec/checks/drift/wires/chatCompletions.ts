import type { DriftWire } from '../compare.js';

const completions = "import('openai/resources/chat/completions/completions')";

export const chatCompletions: DriftWire = {
  name: 'chatCompletions',
  sdk: 'openai',
  files: ['providers/chatCompletions', 'providers/shared/encode.ts'],
  unions: [
    { what: 'fields of a delta', type: `keyof ${completions}.ChatCompletionChunk.Choice.Delta` },
    { what: 'fields of a message', type: `keyof ${completions}.ChatCompletionMessage` },
    { what: 'finish reasons', type: `NonNullable<${completions}.ChatCompletionChunk.Choice['finish_reason']>` },
    { what: 'calls', type: `${completions}.ChatCompletionMessageToolCall['type']` },
    { what: 'tools', type: `${completions}.ChatCompletionTool['type']` },
    { what: 'contents', type: `${completions}.ChatCompletionContentPart['type']` },
    {
      what: 'roles',
      type: `${completions}.ChatCompletionMessageParam['role']`,
      leftOut: [{ reason: 'compatible servers know only `system`, which OpenAI also accepts', values: ['developer'] }],
    },
  ],
};
