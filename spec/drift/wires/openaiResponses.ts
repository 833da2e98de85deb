import { isReasoningModel } from '../../../lib/providers/openaiResponses/models.js';
import type { DriftWire } from '../compare.js';

const responses = "import('openai/resources/responses/responses')";

export const openaiResponses: DriftWire = {
  name: 'openaiResponses',
  sdk: 'openai',
  files: ['providers/openaiResponses'],
  unions: [
    { what: 'events', type: `${responses}.ResponseStreamEvent['type']` },
    { what: 'output items', type: `${responses}.ResponseOutputItem['type']` },
    { what: 'input items', type: `NonNullable<${responses}.ResponseInputItem['type']>` },
    { what: 'output contents', type: `${responses}.ResponseOutputMessage['content'][number]['type']` },
    { what: 'input contents', type: `${responses}.ResponseInputContent['type']` },
    { what: 'annotations', type: `${responses}.ResponseOutputText['annotations'][number]['type']` },
    { what: 'tools', type: `${responses}.Tool['type']` },
    { what: 'statuses', type: `${responses}.ResponseStatus` },
    { what: 'finish reasons', type: `NonNullable<${responses}.Response.IncompleteDetails['reason']>` },
    {
      what: 'models',
      type: "import('openai').OpenAI.ChatModel",
      isKnown: (model) => isReasoningModel(model) !== undefined,
    },
  ],
};
