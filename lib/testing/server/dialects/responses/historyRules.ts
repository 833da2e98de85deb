import { nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import { textOf, type HistoryRules } from '../historyRules.js';
import { outputTypes } from './clientCalls.js';

/** The messages are OpenAI's. */
export const historyRules: HistoryRules = {
  'Guide "Function calling": each call needs an output': (items, at) => {
    const [output, name] = outputTypes.get(textOf(items[at]?.['type'])) ?? [];
    const id = callIdOf(items[at]);
    const isAnswered = items.some((item) => item['type'] === output && callIdOf(item) === id);
    return output === undefined || id === undefined || isAnswered
      ? undefined
      : `No tool output found for ${name} ${id}.`;
  },
  'Responses reference, `call_id`: at most 64 characters': (items, at) =>
    outputTypes.has(textOf(items[at]?.['type'])) && (callIdOf(items[at]) ?? '').length > 64
      ? `Invalid 'input[${at}].call_id': string too long. Expected a string with maximum length 64.`
      : undefined,
  'openai/openai-node#1567, openai/openai-agents-python#1611: reasoning needs an item after it, stored or not': (
    items,
    at,
  ) =>
    items[at]?.['type'] === 'reasoning' && !isModels(items[at + 1])
      ? `Item '${textOf(items[at]['id'])}' of type 'reasoning' was provided without its required following item.`
      : undefined,
};

export const completeHistoryRules: HistoryRules = {
  'Effect-TS/effect#5939: each output needs a call': (items, at) => {
    const found = [...outputTypes].find(([, [output]]) => output === items[at]?.['type']);
    const id = callIdOf(items[at]);
    if (!found || id === undefined) return undefined;
    const [type, [, name]] = found;
    return items.some((item) => item['type'] === type && callIdOf(item) === id)
      ? undefined
      : `No tool call found for ${name} output with call_id ${id}.`;
  },
};

const callIdOf = (item: JsonObject | undefined): string | undefined =>
  item?.['execution'] === 'server' ? undefined : nonEmptyString(item?.['call_id']);

const isModels = (item: JsonObject | undefined): boolean =>
  item !== undefined && item['role'] !== 'user' && !textOf(item['type']).endsWith('_output');
