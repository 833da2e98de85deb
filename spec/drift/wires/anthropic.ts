import { isKnownBlock } from '../../../lib/providers/anthropic/blockReports.js';
import { findFamily } from '../../../lib/providers/anthropic/models.js';
import type { DriftWire } from '../compare.js';

const messages = "import('@anthropic-ai/sdk/resources/beta/messages/messages')";

export const anthropic: DriftWire = {
  name: 'anthropic',
  sdk: '@anthropic-ai/sdk',
  files: ['providers/anthropic'],
  unions: [
    { what: 'events', type: `${messages}.BetaRawMessageStreamEvent['type']` },
    { what: 'blocks', type: `${messages}.BetaContentBlock['type']`, isKnown: isKnownBlock },
    { what: 'deltas', type: `${messages}.BetaRawContentBlockDelta['type']` },
    { what: 'stop reasons', type: `${messages}.BetaStopReason` },
    {
      what: 'citations',
      type: `${messages}.BetaTextCitation['type']`,
      leftOut: [{ reason: 'every citation is a source, whatever its type; its fields are read', values: /_location$/ }],
    },
    {
      what: 'contents of results',
      type: `Exclude<NonNullable<${messages}.BetaToolResultBlockParam['content']>, string>[number]['type']`,
      leftOut: [
        {
          reason: 'a result of a tool has texts, images and documents only',
          values: ['search_result', 'tool_reference', 'browser_state'],
        },
      ],
    },
    {
      what: 'tools',
      type: `NonNullable<${messages}.BetaToolUnion['type']>`,
      leftOut: [
        {
          reason: 'other versions of a tool: an option of `anthropicTools`, or a definition of its own',
          values: /^(bash|computer|text_editor|web_search|web_fetch|code_execution)_\d{8}$/,
        },
        {
          reason: 'a definition of its own, in providerOptions of the request; its blocks are reported',
          values: ['browser_toolset_20260801', 'advisor_20260301', 'mcp_toolset'],
        },
        { reason: 'a definition of its own; its results are reported', values: /^tool_search_tool_/ },
      ],
    },
    { what: 'efforts', type: `NonNullable<NonNullable<${messages}.BetaOutputConfig['effort']>>` },
    { what: 'thinking', type: `${messages}.BetaThinkingConfigParam['type']` },
    {
      what: 'models',
      type: "import('@anthropic-ai/sdk/resources/messages/messages').Model",
      isKnown: (model) => findFamily(model) !== findFamily('another'),
    },
  ],
};
