import { capabilityError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ModelRequest } from '../../core/model.js';
import { isBeforeGemini3 } from '../shared/googleModels.js';

/**
 * A tool that Google runs. `googleTools` creates the common ones; write others by hand. For example, the `definition`
 * of Google Maps is `{ googleMaps: {} }`.
 */
export interface GoogleTool {
  /** An entry of the request's `tools`, in the API's format. */
  readonly definition: JsonObject;
}

/** The options of web search. */
export interface GoogleSearchOptions {
  /** When the pages were published: dates, or RFC 3339 strings. Default: any time. */
  readonly published?: { readonly from: Date | string; readonly to: Date | string } | undefined;
}

/**
 * The tools that Google runs on its own servers (ai.google.dev, "Grounding with Google Search", "Code execution", "URL
 * context"). Pass them to the model:
 *
 * ```ts
 * const model = google('gemini-3.8-flash', { serverTools: [googleTools.search(), googleTools.urlContext()] });
 * ```
 *
 * To combine them with your own tools or with a JSON Schema, use Gemini 3 or later.
 */
export const googleTools = {
  /** Searches the web. Pages become sources, queries `serverTools`, passages `groundingMetadata`. */
  search({ published }: GoogleSearchOptions = {}): GoogleTool {
    const interval = published && { startTime: toTimestamp(published.from), endTime: toTimestamp(published.to) };
    return { definition: { googleSearch: interval ? { timeRangeFilter: interval } : {} } };
  },

  /** Lets the model run Python code, emitted as `serverTools`; images that it draws are files. */
  codeExecution(): GoogleTool {
    return { definition: { codeExecution: {} } };
  },

  /** Reads pages whose URLs are in the conversation, as sources; their status is in `urlContextMetadata`. */
  urlContext(): GoogleTool {
    return { definition: { urlContext: {} } };
  },
} as const;

const toTimestamp = (time: Date | string): string => (typeof time === 'string' ? time : time.toISOString());

export function requireCombinable(
  model: string,
  { tools = [], output }: ModelRequest,
  serverTools: readonly GoogleTool[],
): void {
  const hasConflict = tools.length > 0 || output !== undefined;
  if (serverTools.length === 0 || !hasConflict || !isBeforeGemini3(model)) return;
  const conflict = tools.length > 0 ? 'your own tools' : 'a JSON Schema';
  throw capabilityError(
    `google:${model} cannot combine Google's own tools (serverTools) with ${conflict} in one request.`,
    'Use a Gemini 3 model, or omit one of the two.',
  );
}
