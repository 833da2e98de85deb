import type { DriftWire } from '../compare.js';

const cohereTypes = "import('cohere-ai').Cohere";

export const cohere: DriftWire = {
  name: 'cohere',
  sdk: 'cohere-ai',
  files: ['providers/cohere', 'providers/shared/encode.ts'],
  unions: [
    { what: 'events', type: `${cohereTypes}.V2ChatStreamResponse['type']` },
    {
      what: 'finish reasons',
      type: `${cohereTypes}.ChatFinishReason`,
      leftOut: [{ reason: '`readError` matches them with a pattern: they are errors', values: ['ERROR', 'TIMEOUT'] }],
    },
    { what: 'contents of a response', type: `${cohereTypes}.AssistantMessageResponseContentItem['type']` },
    { what: 'contents of a message', type: `${cohereTypes}.Content['type']` },
    { what: 'contents of a result', type: `${cohereTypes}.ToolContent['type']` },
    { what: 'fields of a citation', type: `keyof ${cohereTypes}.Citation` },
    {
      what: 'places of a citation',
      type: `${cohereTypes}.CitationType`,
      leftOut: [{ reason: 'they have no position in the text', values: ['THINKING_CONTENT', 'PLAN'] }],
    },
    { what: 'sources', type: `${cohereTypes}.Source['type']` },
    { what: 'tools', type: `${cohereTypes}.ToolV2['type']` },
    { what: 'thinking', type: `${cohereTypes}.ThinkingType` },
  ],
};
