import { capabilityError } from '../../core/errors.js';
import { nonEmptyString, omitUndefined, type JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { Capabilities, Thinking, ThinkingEffort } from '../../core/model.js';
import { allCapabilities } from './capabilityTable.js';
import { lookUpEffort } from './thinkingEffort.js';

/** 2.5 for `gemini-2.5-flash`; undefined without one (`gemini-flash-latest`, a tuned model). */
export function modelGeneration(model: string): number | undefined {
  const generation = /(?:^|\/)gemini-(\d+(?:\.\d+)?)(?![\d.])/.exec(model)?.[1];
  return generation === undefined ? undefined : Number(generation);
}

/** What the two APIs of Gemini have in common. */
export const geminiServer = (name: string) => ({
  name,
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  apiKey: { variable: 'GEMINI_API_KEY' },
  authorize: (key: string) => ({ 'x-goog-api-key': key }),
  capabilities: geminiCapabilities(name),
});

/** Before Gemini 3: "Function calling with a response mime type: 'application/json' is unsupported". */
function geminiCapabilities(model: string): Capabilities {
  const generation = modelGeneration(model);
  const since = (first: number) => (generation === undefined ? undefined : generation >= first);
  return omitUndefined({ ...allCapabilities, typedOutputWithTools: since(3), thinking: since(2.5) });
}

/** Undefined if the last response is complete. */
export function findContinuationToken(messages: readonly Message[], provider: string): string | undefined {
  const last = messages.at(-1)?.parts.at(-1);
  if (last?.type !== 'provider' || last.provider !== provider) return undefined;
  return nonEmptyString(last.data['continuationToken']);
}

export const isGemini3 = (model: string): boolean => (modelGeneration(model) ?? 0) >= 3;

export const isBeforeGemini3 = (model: string): boolean => (modelGeneration(model) ?? 3) < 3;

/** Models before Gemini 3 have no levels (Google's guide "OpenAI compatibility"). */
const budgetsByEffort = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 } as const;

const lowAndHigh = { low: 'low', high: 'high' } as const;
const lowToHigh = { low: 'low', medium: 'medium', high: 'high' } as const;
// No spreads: bundlers keep them in every bundle.
const minimalToHigh = { minimal: 'minimal', low: 'low', medium: 'medium', high: 'high' } as const;
const lowToXhigh = { low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh' } as const;

type Levels = Readonly<Partial<Record<ThinkingEffort, string>>>;

/** Guides "Gemini 3", "Gemini 3.5 Flash", "Gemini 4 Argon" and "Gemini 4 Hydrogen". The first match counts. */
const levelsByName: readonly (readonly [RegExp, Levels])[] = [
  [/gemini-3-.*pro\b/, lowAndHigh],
  [/gemini-3\.\d+-.*pro\b/, lowToHigh],
  [/gemini-3(\.\d+)?-/, minimalToHigh],
  [/gemini-4-argon\b/, lowToHigh],
];

const findLevels = (model: string): Levels => levelsByName.find(([pattern]) => pattern.test(model))?.[1] ?? lowToXhigh;

/** Whether thinking cannot be turned off: Pro models since Gemini 2.5, and all models since Gemini 4. */
function alwaysThinks(model: string): boolean {
  const generation = modelGeneration(model) ?? 0;
  return generation >= 4 || (generation >= 2.5 && /-pro\b/.test(model));
}

/** Guide "Gemini thinking": a level since Gemini 3, a budget before (-1: the model decides; 0: off), never both. */
export function encodeThinking(model: string, thinking: Thinking): JsonObject {
  const hasLevels = isGemini3(model);
  if (thinking === false) return encodeNoThinking(model, hasLevels);
  if (thinking === true)
    return omitUndefined({ includeThoughts: true, thinkingBudget: modelGeneration(model) === 2.5 ? -1 : undefined });
  const { effort, budget } = thinking;
  if (effort !== undefined && hasLevels)
    return { includeThoughts: true, thinkingLevel: lookUpEffort(`google:${model}`, effort, findLevels(model)) };
  if (effort !== undefined && budget === undefined)
    return { includeThoughts: true, thinkingBudget: lookUpEffort(`google:${model}`, effort, budgetsByEffort) };
  return omitUndefined({ includeThoughts: budget !== 0, thinkingBudget: budget });
}

/** For the Flash models of Gemini 3, `minimal` is the lowest level. */
function encodeNoThinking(model: string, hasLevels: boolean): JsonObject {
  if (alwaysThinks(model)) {
    throw capabilityError(
      `google:${model} always thinks; thinking cannot be turned off.`,
      "Use a Flash model before Gemini 4, or a low effort: thinking: { effort: 'low' }.",
    );
  }
  return hasLevels ? { thinkingLevel: 'minimal' } : { thinkingBudget: 0 };
}
