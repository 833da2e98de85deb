import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Request } from '../../core/model.js';
import { modelGeneration } from './models.js';

/**
 * A tool that Google runs. `googleTools` makes the common ones; others are written by hand (`{ definition: {
 * googleMaps: {} } }`).
 */
export interface GoogleTool {
  /** An entry of the request's `tools`, in the API's format. */
  readonly definition: JsonObject;
}

/** The options of a web search. */
export interface GoogleSearchOptions {
  /** Only pages published in this interval: dates, or texts in the API's format (RFC 3339). Default: any time. */
  readonly published?: { readonly from: Date | string; readonly to: Date | string } | undefined;
}

/**
 * The tools that Google runs on its side of the Gemini API (ai.google.dev, "Grounding with Google Search", "Code
 * execution", "URL context"). They are options of the model:
 *
 * ```ts
 * const model = google('gemini-2.5-flash', { serverTools: [googleTools.search(), googleTools.urlContext()] });
 * ```
 *
 * Together with your own tools, or with a JSON Schema, they require Gemini 3.
 */
export const googleTools = {
  /**
   * Searches the web. The pages that ground the answer are sources. The queries, and which passage is grounded in which
   * page, are metadata (`groundingMetadata`).
   */
  search({ published }: GoogleSearchOptions = {}): GoogleTool {
    const interval = published && { startTime: toTimestamp(published.from), endTime: toTimestamp(published.to) };
    return { definition: { googleSearch: interval ? { timeRangeFilter: interval } : {} } };
  },

  /**
   * Writes Python code and runs it. The code and its result are metadata (`executableCode`, `codeExecutionResult`), in
   * order; the images that it draws are files.
   */
  codeExecution(): GoogleTool {
    return { definition: { codeExecution: {} } };
  },

  /**
   * Reads the pages whose URLs are in the conversation. Pages that were read are sources; the state of every page is
   * metadata (`urlContextMetadata`).
   */
  urlContext(): GoogleTool {
    return { definition: { urlContext: {} } };
  },
} as const;

const toTimestamp = (time: Date | string): string => (typeof time === 'string' ? time : time.toISOString());

/**
 * Whether a request combines the user's tools with tools that Google runs.
 *
 * @param model The model's name. If the name has no generation, the server decides what is allowed.
 * @throws ConfigurationError `capability` where the model is known to accept Google's tools only alone: before Gemini 3
 * (guides "Combine built-in tools and function calling", and "Structured outputs" on structured outputs with tools).
 */
export function combinesTools(
  model: string,
  { tools = [], output }: Request,
  serverTools: readonly GoogleTool[],
): boolean {
  if (serverTools.length === 0) return false;
  const other = tools.length > 0 ? 'tools of yours' : output === undefined ? undefined : 'a JSON Schema';
  const generation = modelGeneration(model);
  if (other !== undefined && generation !== undefined && generation < 3) {
    throw new ConfigurationError(
      'capability',
      `google:${model} cannot use Google's own tools (serverTools) in a request that has ${other}.`,
      'Use a model of Gemini 3, or omit one of the two.',
    );
  }
  return tools.length > 0;
}
