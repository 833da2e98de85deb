import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Request } from '../../core/model.js';
import { generationOf } from './providerData.js';

/** A tool that Google runs, as its API takes it. Made by `googleTools`, or by hand for one that is not among them (`{ googleMaps: {} }`). */
export interface GoogleTool {
  /** An entry of the request's `tools`. */
  readonly definition: JsonObject;
}

/** How the web is searched. */
export interface GoogleSearchOptions {
  /** Only what was published then: dates, or texts as the API has them (RFC 3339). Default: whenever. */
  readonly published?: { readonly from: Date | string; readonly to: Date | string } | undefined;
}

/**
 * The tools that Google runs on its side of the Gemini API (ai.google.dev, "Grounding with Google Search", "Code execution", "URL context"). They are
 * given to the model:
 *
 * ```ts
 * const model = google('gemini-2.5-flash', { serverTools: [googleTools.search(), googleTools.urlContext()] });
 * ```
 *
 * Beside tools of one's own, or beside a JSON Schema, they need Gemini 3.
 */
export const googleTools = {
  /** Searches the web. What the answer rests on are sources; the queries and which passages rest on what are metadata (`groundingMetadata`). */
  search({ published }: GoogleSearchOptions = {}): GoogleTool {
    const interval = published && { startTime: timeOf(published.from), endTime: timeOf(published.to) };
    return { definition: { googleSearch: interval ? { timeRangeFilter: interval } : {} } };
  },

  /** Writes Python and runs it: both are metadata (`executableCode`, `codeExecutionResult`), in order; the images that it draws are files. */
  codeExecution(): GoogleTool {
    return { definition: { codeExecution: {} } };
  },

  /** Reads the pages that the conversation names. Those that could be read are sources; which could not is metadata (`urlContextMetadata`). */
  urlContext(): GoogleTool {
    return { definition: { urlContext: {} } };
  },
} as const;

const timeOf = (time: Date | string): string => (typeof time === 'string' ? time : time.toISOString());

/**
 * Whether a request has tools of both kinds.
 *
 * @param model The model's name. Of one whose name does not say its generation, the server will tell.
 * @throws ConfigurationError `capability` where the model is known to take Google's tools alone only: before Gemini 3 (guides "Combine built-in tools
 * and function calling", and "Structured outputs" on those with tools).
 */
export function isMixed(model: string, { tools = [], output }: Request, serverTools: readonly GoogleTool[]): boolean {
  if (serverTools.length === 0) return false;
  const beside = tools.length > 0 ? 'tools of yours' : output === undefined ? undefined : 'a JSON Schema';
  const generation = generationOf(model);
  if (beside !== undefined && generation !== undefined && generation < 3) {
    throw new ConfigurationError(
      'capability',
      `google:${model} cannot use Google's own tools (serverTools) in a request that has ${beside}.`,
      'Use a model of Gemini 3, or leave one of the two out.',
    );
  }
  return tools.length > 0;
}
