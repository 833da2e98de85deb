import { isReasoningModel } from '../../../../lib/providers/openaiResponses/models.js';
import { parseServerEvent } from '../../../../lib/providers/openaiResponses/serverItems.js';
import { readTextEvent } from '../../../../lib/providers/openaiResponses/texts.js';
import type { DriftWire } from '../compare.js';

const responses = "import('openai/resources/responses/responses')";

const itemsLeftOut = {
  reason: 'they need no handling of their own: reported as metadata, stored with the message, and sent back',
  values: ['program_output', 'additional_tools', 'compaction'],
};

export const openaiResponses: DriftWire = {
  name: 'openaiResponses',
  sdk: 'openai',
  files: ['providers/openai.ts', 'providers/openaiResponses'],
  unions: [
    {
      what: 'events',
      type: `${responses}.ResponseStreamEvent['type']`,
      isKnown: (type) =>
        readTextEvent(type, { delta: 'x', text: 'x' }) !== undefined || parseServerEvent(type) !== undefined,
      leftOut: [
        { reason: 'audio is an output of the Realtime API only; emitted as metadata', values: /^response\.audio\./ },
      ],
    },
    { what: 'output items', type: `${responses}.ResponseOutputItem['type']`, leftOut: [itemsLeftOut] },
    {
      what: 'input items',
      type: `NonNullable<${responses}.ResponseInputItem['type']>`,
      leftOut: [
        itemsLeftOut,
        {
          reason: 'an application passes them in providerOptions; a history contains none',
          values: ['configuration_update', 'compaction_trigger', 'item_reference'],
        },
      ],
    },
    { what: 'output contents', type: `${responses}.ResponseOutputMessage['content'][number]['type']` },
    { what: 'input contents', type: `${responses}.ResponseInputContent['type']` },
    {
      what: 'annotations',
      type: `${responses}.ResponseOutputText['annotations'][number]['type']`,
      leftOut: [
        { reason: 'any annotation with a `file_id` is a source', values: ['container_file_citation', 'file_path'] },
      ],
    },
    {
      what: 'tools',
      type: `${responses}.Tool['type']`,
      leftOut: [
        {
          reason: 'older versions of a tool; pass them in providerOptions',
          values: /^(computer_use_preview|web_search_.+)$/,
        },
        {
          reason: 'pass it in providerOptions; its calls are reported as server tools',
          values: ['programmatic_tool_calling'],
        },
        {
          reason: 'it groups functions; pass it in providerOptions, the calls keep their `namespace`',
          values: ['namespace'],
        },
      ],
    },
    {
      what: 'statuses',
      type: `${responses}.ResponseStatus`,
      leftOut: [{ reason: 'they do not end a response', values: ['in_progress', 'queued'] }],
    },
    { what: 'finish reasons', type: `NonNullable<${responses}.Response.IncompleteDetails['reason']>` },
    {
      what: 'models',
      type: "import('openai').OpenAI.ChatModel",
      isKnown: (model) => isReasoningModel(model) !== undefined,
    },
  ],
};
