import { modelGeneration } from '../../../lib/providers/google/models.js';
import type { DriftWire } from '../compare.js';

const genai = "import('@google/genai')";

export const google: DriftWire = {
  name: 'google',
  sdk: '@google/genai',
  files: ['providers/google'],
  unions: [
    { what: 'finish reasons', type: `\`\${${genai}.FinishReason}\`` },
    { what: 'block reasons', type: `\`\${${genai}.BlockedReason}\`` },
    { what: 'parts', type: `keyof ${genai}.Part` },
    { what: 'fields of a candidate', type: `keyof ${genai}.Candidate` },
    { what: 'sources', type: `keyof ${genai}.GroundingChunk` },
    { what: 'tools', type: `keyof ${genai}.Tool` },
    { what: 'fields of a call', type: `keyof ${genai}.FunctionCall` },
    { what: 'fields of a result', type: `keyof ${genai}.FunctionResponse` },
    { what: 'thinking levels', type: `\`\${${genai}.ThinkingLevel}\`` },
    { what: 'models', type: `${genai}.Interactions.Model`, isKnown: (model) => modelGeneration(model) !== undefined },
  ],
};
