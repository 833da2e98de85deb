import { modelGeneration } from '../../../../lib/providers/shared/googleModels.js';
import type { DriftWire } from '../compare.js';

const genai = "import('@google/genai')";

export const google: DriftWire = {
  name: 'google',
  sdk: '@google/genai',
  files: ['providers/google', 'providers/shared/googleModels.ts'],
  unions: [
    { what: 'finish reasons', type: `\`\${${genai}.FinishReason}\`` },
    {
      what: 'block reasons',
      type: `\`\${${genai}.BlockedReason}\``,
      leftOut: [
        { reason: 'every block reason is a content filter', values: ['BLOCKED_REASON_UNSPECIFIED', 'JAILBREAK'] },
      ],
    },
    { what: 'parts', type: `keyof ${genai}.Part` },
    {
      what: 'fields of a candidate',
      type: `keyof ${genai}.Candidate`,
      leftOut: [
        {
          reason: 'no wire reports probabilities, or counts besides usage',
          values: ['tokenCount', 'avgLogprobs', 'logprobsResult'],
        },
      ],
    },
    {
      what: 'sources',
      type: `keyof ${genai}.GroundingChunk`,
      leftOut: [
        {
          reason: 'every kind is a source: its URL, title and text are read',
          values: /^(maps|image|retrievedContext|web)$/,
        },
      ],
    },
    {
      what: 'tools',
      type: `keyof ${genai}.Tool`,
      leftOut: [
        {
          reason: 'not supported in the Gemini API, only in Vertex AI',
          values: ['retrieval', 'enterpriseWebSearch', 'exaAiSearch', 'parallelAiSearch'],
        },
        { reason: 'replaced by `googleSearch`', values: ['googleSearchRetrieval'] },
        {
          reason: 'a definition of its own, in providerOptions of the request; its parts are reported as metadata',
          values: ['googleMaps', 'mcpServers', 'computerUse', 'fileSearch'],
        },
      ],
    },
    { what: 'fields of a call', type: `keyof ${genai}.FunctionCall` },
    {
      what: 'fields of a result',
      type: `keyof ${genai}.FunctionResponse`,
      leftOut: [{ reason: 'only for functions that do not block, in the Live API', values: ['scheduling'] }],
    },
    {
      what: 'thinking levels',
      type: `Lowercase<\`\${${genai}.ThinkingLevel}\`>`,
      leftOut: [{ reason: 'it stands for no level', values: ['thinking_level_unspecified'] }],
    },
    {
      what: 'models',
      type: `${genai}.Interactions.Model`,
      isKnown: (model) => modelGeneration(model) !== undefined,
      leftOut: [
        { reason: 'an alias without a generation: no rule of a generation applies', values: /^gemini-.*-latest$/ },
        {
          reason: 'other families, which have no rules',
          values: /^(gemma|lyria|nano-banana|gemini-(nano|robotics|omni))-/,
        },
      ],
    },
  ],
};
