import { isKnownBlock } from '../../../../lib/providers/anthropic/blockReports.js';
import { findFamily } from '../../../../lib/providers/anthropic/models.js';
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
    {
      what: 'blocks of a request',
      type: `${messages}.BetaContentBlockParam['type']`,
      isKnown: isKnownBlock,
      leftOut: [
        {
          reason: 'passages of the application: a part with providerOptions, or a document',
          values: ['search_result'],
        },
        {
          reason: 'changes of the tools in the middle of a conversation: a request has the tools of its turn',
          values: ['tool_addition', 'tool_removal'],
        },
      ],
    },
    {
      what: 'fields of a request',
      type: `Extract<keyof ${messages}.MessageCreateParamsStreaming, string>`,
      leftOut: [
        {
          reason: 'the server keeps the conversation: here the history is sent, which a run may shorten',
          values: ['thread'],
        },
        {
          reason: 'an application passes them in providerOptions of the request',
          values: [
            ...['billing_policy', 'cache_control', 'fallback_credit_token', 'fallbacks', 'inference_geo'],
            ...['mcp_servers', 'output_format', 'service_tier', 'speed', 'user_profile_id', 'workspace_id'],
          ],
        },
      ],
    },
    {
      what: 'fields of usage',
      type: `Extract<keyof ${messages}.BetaUsage, string>`,
      leftOut: [
        {
          reason: 'a credit of the bill, not tokens',
          values: ['fallback_credit'],
        },
        { reason: 'where and how the request was served', values: ['inference_geo', 'service_tier', 'speed'] },
      ],
    },
    {
      what: 'cache lifetimes',
      type: `Extract<keyof ${messages}.BetaCacheCreation, string>`,
      leftOut: [
        {
          reason: 'what is written for five minutes is the rest of cache_creation_input_tokens',
          values: ['ephemeral_5m_input_tokens'],
        },
      ],
    },
    {
      what: 'iterations of usage',
      type: `NonNullable<${messages}.BetaIterationsUsage>[number]['type']`,
      leftOut: [
        { reason: 'the tokens of another model, with other prices', values: ['advisor_message', 'fallback_message'] },
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
