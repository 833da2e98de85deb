import type { Checkpoint, OpenCalls } from './checkpoint.js';
import type { StreamEvent } from './event.js';
import { isResult, isTurn } from './eventGuards.js';
import { finiteNumber } from './json/json.js';
import type { Metadata } from './message.js';
import { addUsage, negative, type Usage } from './usage.js';

/**
 * Returns what each event adds to the usage of its run, with the cost that the provider reports if `priceModel` has set
 * none. A turn whose calls wait has no `turn` event: its usage is in the checkpoint of the result.
 *
 * @param resumed The checkpoint from which the run was resumed. The usage of its open turn was counted before.
 */
export function createUsageCounter(resumed?: Pick<Checkpoint, 'open'>): (event: StreamEvent) => Usage | undefined {
  let counted = usageOfOpen(resumed?.open);
  return (event) => {
    const used = usageOfEvent(event);
    if (!used) return undefined;
    const before = counted;
    counted = {};
    return addUsage(used, negative(before));
  };
}

function usageOfEvent(event: StreamEvent): Usage | undefined {
  if (isTurn(event)) return withCost(event.usage, event.metadata);
  const isWaiting = isResult(event) && event.result.finishReason === 'waiting';
  return isWaiting ? usageOfOpen(event.result.checkpoint?.open) : undefined;
}

const usageOfOpen = (open: OpenCalls | undefined): Usage => withCost(open?.finish.usage, open?.metadata);

const withCost = (usage: Usage | undefined, metadata: Metadata = {}): Usage =>
  addUsage(undefined, { ...usage, cost: usage?.cost ?? finiteNumber(metadata['cost']) });
