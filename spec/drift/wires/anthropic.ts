import { findFamily } from '../../../lib/providers/anthropic/models.js';
import type { DriftWire } from '../compare.js';

const messages = "import('@anthropic-ai/sdk/resources/beta/messages/messages')";

export const anthropic: DriftWire = {
  name: 'anthropic',
  sdk: '@anthropic-ai/sdk',
  files: ['providers/anthropic'],
  unions: [
    { what: 'events', type: `${messages}.BetaRawMessageStreamEvent['type']` },
    { what: 'blocks', type: `${messages}.BetaContentBlock['type']` },
    { what: 'deltas', type: `${messages}.BetaRawContentBlockDelta['type']` },
    { what: 'stop reasons', type: `${messages}.BetaStopReason` },
    { what: 'citations', type: `${messages}.BetaTextCitation['type']` },
    {
      what: 'contents of results',
      type: `Exclude<NonNullable<${messages}.BetaToolResultBlockParam['content']>, string>[number]['type']`,
    },
    { what: 'tools', type: `NonNullable<${messages}.BetaToolUnion['type']>` },
    { what: 'efforts', type: `NonNullable<NonNullable<${messages}.BetaOutputConfig['effort']>>` },
    { what: 'thinking', type: `${messages}.BetaThinkingConfigParam['type']` },
    {
      what: 'models',
      type: "import('@anthropic-ai/sdk/resources/messages/messages').Model",
      isKnown: (model) => findFamily(model) !== findFamily('another'),
    },
  ],
};
