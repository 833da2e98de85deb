import type { DriftWire } from '../compare.js';

const components = "import('@mistralai/mistralai/models/components')";
const valuesOf = (name: string) => `(typeof ${components}.${name})[keyof typeof ${components}.${name}]`;

export const mistral: DriftWire = {
  name: 'mistral',
  sdk: '@mistralai/mistralai',
  files: ['providers/mistral.ts', 'providers/chatCompletions', 'providers/shared/encode.ts'],
  unions: [
    {
      what: 'contents',
      type: `${components}.ContentChunk['type']`,
      leftOut: [{ reason: "the SDK's own mark for a type that it does not know", values: ['UNKNOWN'] }],
    },
    { what: 'contents of thinking', type: `NonNullable<${components}.ThinkChunk['thinking'][number]['type']>` },
    { what: 'fields of a delta', type: `keyof ${components}.DeltaMessage` },
    { what: 'finish reasons', type: valuesOf('CompletionResponseStreamChoiceFinishReason') },
    {
      what: 'tools',
      type: `NonNullable<${components}.ChatCompletionStreamRequestTool['type']>`,
      leftOut: [
        {
          reason: 'run by the API for agents and connectors; pass them in providerOptions.mistral.tools',
          values: [
            'web_search',
            'web_search_premium',
            'code_interpreter',
            'image_generation',
            'document_library',
            'connector',
          ],
        },
      ],
    },
    { what: 'efforts', type: valuesOf('ReasoningEffort') },
  ],
};
