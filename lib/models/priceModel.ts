import type { Chunk } from '../core/chunk.js';
import { callModelWrapper } from '../core/callWrapper.js';
import { createOperator } from '../core/createOperator.js';
import { deriveModel } from '../core/deriveModel.js';
import { isRecord } from '../core/json/json.js';
import type { Model } from '../core/model.js';
import { openResponse } from '../core/response.js';
import { costOf, requirePrices, type Prices } from '../core/prices.js';
import { hasCounts, type Usage } from '../core/usage.js';
import { setUsageOfError, usageOfError } from '../core/usageOfError.js';

type ModelId = Pick<Model, 'provider' | 'name'>;

/**
 * Makes a model whose usage says what it costs: `usage.cost`.
 *
 * <span class="informal">The bill, by the prices that you know.</span>
 *
 * ![](../../marbles/priceModel.svg)
 *
 * Costs are added like tokens: `result.cost` is that of the run, with its retracted attempts, and with sub-agents whose
 * models have prices as well. `costBudget({ max })` ends a run by it. Of several models (`fallback`, `hedge`), the
 * prices of the one that answers apply; a model without prices adds no cost.
 *
 * ```ts
 * const prices = {
 *   'gpt-6.1-terra': { input: 1.25, output: 10, cachedInput: 0.125 }, // dollars per million tokens
 *   'claude-sonnet-5-5': { input: 3, output: 15, cachedInput: 0.3, cacheWriteInput: 3.75, longCacheWriteInput: 6 },
 * };
 * const model = priceModel(fallback([openai('gpt-6.1-terra'), anthropic('claude-sonnet-5-5')]), prices);
 * createAgent({ model, stopWhen: costBudget({ max: 0.5 }) }).run('Hi').subscribe(({ cost }) => console.log(cost));
 * ```
 *
 * @param model The model. It may be left out.
 * @param prices The prices per million tokens: of the model, or by the names of several (`gpt-6.1-terra` or
 * `openai:gpt-6.1-terra`).
 * @returns A model with the same name and capabilities. A usage that has a cost already keeps it. Without `model`, a
 * function of a model, for rxjs's `pipe`.
 */
export function priceModel(model: Model, prices: Prices | Readonly<Record<string, Prices>>): Model;
export function priceModel(prices: Prices | Readonly<Record<string, Prices>>): (model: Model) => Model;
export function priceModel(...args: readonly unknown[]) {
  return callModelWrapper(args, (prices: Prices | Readonly<Record<string, Prices>>) => {
    if (isOfOneModel(prices)) requirePrices('The prices', prices);
    else for (const [name, each] of Object.entries(prices)) requirePrices(`The prices of ${name}`, each);
    return (model) => deriveModel(model, (request) => openResponse(model, request).pipe(addCosts(model, prices)));
  });
}

const isOfOneModel = (prices: Prices | Readonly<Record<string, Prices>>): prices is Prices =>
  !Object.values(prices).some(isRecord);

const addCosts = (model: ModelId, prices: Prices | Readonly<Record<string, Prices>>) =>
  createOperator<Chunk, Chunk>((out) => {
    let answering = model;
    const priced = (usage: Usage | undefined): Usage | undefined => {
      const { provider, name } = answering;
      const own = isOfOneModel(prices) ? prices : (prices[`${provider}:${name}`] ?? prices[name]);
      if (!own || !hasCounts(usage) || usage.cost !== undefined) return usage;
      return { ...usage, cost: costOf(usage, own) };
    };
    return {
      next(chunk) {
        if (chunk.type === 'metadata' && isRecord(chunk.metadata['answeredBy']))
          answering = chunk.metadata['answeredBy'] as unknown as ModelId;
        const usage = chunk.type === 'finish' || chunk.type === 'retract' ? priced(chunk.usage) : undefined;
        out.next(usage ? ({ ...chunk, usage } as Chunk) : chunk);
      },
      error(thrown) {
        setUsageOfError(thrown, priced(usageOfError(thrown)));
        out.error(thrown);
      },
    };
  });
