import type { StreamEvent } from './event.js';
import { isResult, isTurn } from './eventGuards.js';
import { finiteNumber } from './json/json.js';
import { addUsage } from './usage.js';
import type { Usage } from './usage.js';

/**
 * What an event adds to the usage of its run, with the cost that the provider reports if `priceModel` has set none. A
 * turn whose calls wait has no `turn` event: its usage is in the checkpoint of the result.
 */
export function usageOfEvent(event: StreamEvent): Usage | undefined {
  if (isTurn(event)) return withCost(event.usage, event.metadata);
  if (!isResult(event) || event.result.finishReason !== 'waiting') return undefined;
  const { finish, metadata } = event.result.checkpoint?.open ?? {};
  return withCost(finish?.usage, metadata);
}

const withCost = (usage: Usage | undefined, metadata: Readonly<Record<string, unknown>> = {}): Usage =>
  addUsage(undefined, { ...usage, cost: usage?.cost ?? finiteNumber(metadata['cost']) });
