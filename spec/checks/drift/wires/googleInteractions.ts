import { toFinishReason } from '../../../../lib/providers/googleInteractions/finish.js';
import type { DriftWire } from '../compare.js';

const interactions = "import('@google/genai').Interactions";

/** The steps and deltas of the tools that Google runs: read by the end of their names. */
const serverSteps =
  /^(code_execution|file_search|google_maps|google_search|mcp_server_tool|processing|retrieval|url_context)_(call|result)$/;

export const googleInteractions: DriftWire = {
  name: 'google-interactions',
  sdk: '@google/genai',
  files: ['providers/googleInteractions'],
  unions: [
    { what: 'events', type: `${interactions}.InteractionSSEEvent['event_type']` },
    {
      what: 'steps',
      type: `${interactions}.Step['type']`,
      leftOut: [{ reason: 'a step of a tool that Google runs, whatever its name', values: serverSteps }],
    },
    {
      what: 'deltas',
      type: `${interactions}.StepDelta['delta']['type']`,
      leftOut: [{ reason: 'a step of a tool that Google runs, whatever its name', values: serverSteps }],
    },
    {
      what: 'statuses',
      type: `${interactions}.Interaction['status']`,
      isKnown: (status) => toFinishReason(status) !== 'other',
    },
  ],
};
