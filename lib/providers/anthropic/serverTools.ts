import { growing } from '../../core/growing.js';
import { HttpError } from '../../core/errors.js';
import { isJsonObject, omitUndefined, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { Fields, JsonObject } from '../../core/json/json.js';
import { providerDataOf } from '../../core/providerPart.js';
import type { Message } from '../../core/message.js';
import { mergeHeaders } from '../../protocol/request.js';
import { bash, memory, textEditor } from './clientTools.js';
import { computer } from './computer.js';
import { requireNumber } from '../../core/options.js';

/** A tool that Anthropic runs, in the API's format. `anthropicTools` creates the common ones; write others by hand. */
export interface AnthropicTool {
  /** An entry of the request's `tools`. */
  readonly definition: JsonObject;
  /** The betas that the tool requires in the `anthropic-beta` header. Default: none. */
  readonly betas?: readonly string[];
}

/** The API accepts only one of the two lists of domains. */
interface WebLimits {
  /** The maximum number of uses of the tool in one request. Default: no limit. */
  readonly maxUses?: number | undefined;
  /** The only domains to use, without `https://`; subdomains are included. Default: all. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** The domains not to use, without `https://`; subdomains are included. Default: none. */
  readonly blockedDomains?: readonly string[] | undefined;
}

/** The options of web search. */
export interface WebSearchOptions extends WebLimits {
  /** The user's approximate location. Country: two letters; time zone: its IANA name. Default: not sent. */
  readonly userLocation?:
    | { readonly city?: string; readonly region?: string; readonly country?: string; readonly timezone?: string }
    | undefined;
  /** Since `20260209`, the model filters results with code, from the 4.6 family on. Default: `20250305`. */
  readonly version?: string | undefined;
}

/** The options of web fetch. */
export interface WebFetchOptions extends WebLimits {
  /** Whether responses cite passages of the fetched pages. Default: false. */
  readonly citations?: boolean | undefined;
  /** The maximum length of the content, in tokens; longer content is truncated. Default: no limit. */
  readonly maxContentTokens?: number | undefined;
  /** Since `20260209`, the model filters pages with code, from the 4.6 family on. Default: `20250910`. */
  readonly version?: string | undefined;
}

/** The options of code execution. */
export interface CodeExecutionOptions {
  /** Since `20260120`, variables persist, and code can call tools. Default: `20250825`. */
  readonly version?: string | undefined;
}

/**
 * The tools that Anthropic defines. It runs some of them on its own servers (platform.claude.com, "Web search tool",
 * "Web fetch tool", "Code execution tool", "Tool search tool"). Pass these to the model:
 *
 * ```ts
 * const model = anthropic('claude-sonnet-5-5', {
 *   serverTools: [anthropicTools.webSearch({ maxUses: 3 }), anthropicTools.codeExecution()],
 * });
 * ```
 *
 * Each call and each result is emitted as metadata (`serverTools`, with the unchanged content block as `raw`), in order
 * of arrival. Cited pages, fetched pages, and files that code creates are emitted as sources; the content of fetched
 * pages is emitted as files. The default versions run on every model that supports the tool.
 *
 * The application runs the others (`bash`, `textEditor`, `memory`, `computer`). They are ordinary tools for an agent:
 *
 * ```ts
 * const bash = anthropicTools.bash({ execute: ({ command }) => runInSandbox(command) });
 * const agent = createAgent({ model, tools: [bash] });
 * ```
 */
export const anthropicTools = {
  /** Searches the web. Cited passages are emitted as sources; the metadata contains all results. */
  webSearch({ userLocation, version = '20250305', ...limits }: WebSearchOptions = {}): AnthropicTool {
    return createTool(`web_search_${version}`, 'web_search', {
      ...encodeLimits(limits),
      user_location: userLocation && { type: 'approximate', ...omitUndefined({ ...userLocation }) },
    });
  },

  /** Fetches pages and PDFs whose URLs are in the conversation; emits each as a source and a file. */
  webFetch(options: WebFetchOptions = {}): AnthropicTool {
    const { citations, maxContentTokens, version = '20250910', ...limits } = options;
    requireNumber('maxContentTokens', maxContentTokens, 1, Number.MAX_SAFE_INTEGER);
    return createTool(`web_fetch_${version}`, 'web_fetch', {
      ...encodeLimits(limits),
      citations: citations === undefined ? undefined : { enabled: citations },
      max_content_tokens: maxContentTokens,
    });
  },

  /** Runs commands and edits files in the conversation's container. Created files are sources, with Files API ids. */
  codeExecution({ version = '20250825' }: CodeExecutionOptions = {}): AnthropicTool {
    return createTool(`code_execution_${version}`, 'code_execution', {});
  },

  /** Searches tools with `providerOptions: { anthropic: { defer_loading: true } }`, unseen until they are found. */
  toolSearch(by: 'regex' | 'bm25' = 'regex'): AnthropicTool {
    return createTool(`tool_search_tool_${by}_20251119`, `tool_search_tool_${by}`, {});
  },

  bash,
  textEditor,
  memory,
  computer,
} as const;

function encodeLimits({ maxUses, allowedDomains, blockedDomains }: WebLimits) {
  requireNumber('maxUses', maxUses, 1, Number.MAX_SAFE_INTEGER);
  return {
    max_uses: maxUses,
    allowed_domains: allowedDomains,
    blocked_domains: blockedDomains,
  };
}

/** From the tools' documentation. No longer required, but some compatible servers implement an older API. */
const betaNames: ReadonlyMap<string, string> = new Map([
  ['web_fetch_20250910', 'web-fetch-2025-09-10'],
  ['code_execution_20250522', 'code-execution-2025-05-22'],
  ['code_execution_20250825', 'code-execution-2025-08-25'],
]);

function createTool(type: string, name: string, fields: Fields): AnthropicTool {
  const beta = betaNames.get(type);
  return omitUndefined({
    definition: { type, name, ...omitUndefined(fields) },
    betas: beta === undefined ? undefined : [beta],
  });
}

/** The API requires unique names; the later tool stays. */
export function uniqueTools(tools: readonly AnthropicTool[]): readonly AnthropicTool[] {
  return [...new Map(tools.map((tool) => [nonEmptyString(tool.definition['name']) ?? tool, tool])).values()];
}

export function withBetas(
  headers: Readonly<Record<string, string>> | undefined,
  tools: readonly AnthropicTool[],
): Readonly<Record<string, string>> | undefined {
  const toolBetas = tools.flatMap((tool) => tool.betas ?? []);
  if (toolBetas.length === 0) return headers;
  const merged = mergeHeaders(headers);
  const userBetas = (merged['anthropic-beta'] ?? '').split(',');
  const betas = [...userBetas, ...toolBetas].map((beta) => beta.trim()).filter((beta) => beta !== '');
  return { ...merged, 'anthropic-beta': [...new Set(betas)].join(',') };
}

export function runsCode(tools: readonly AnthropicTool[]): boolean {
  return tools.some(({ definition }) => {
    const [, kind, version = ''] = codeToolType.exec(nonEmptyString(definition['type']) ?? '') ?? [];
    return kind === 'code_execution' || (kind !== undefined && version >= FIRST_FILTERING_VERSION);
  });
}

const FIRST_FILTERING_VERSION = '20260209';

const codeToolType = /^(code_execution|web_search|web_fetch)_(\d{8})$/;

/** The API requires the id "when there are pending tool uses generated by code execution with tools". */
export const findLastContainer = /* @__PURE__ */ growing<Message, string | undefined>(undefined, (last, message) => {
  const data = providerDataOf(message, 'anthropic').findLast(({ container }) => isJsonObject(container));
  return data ? nonEmptyString(objectOrEmpty(data['container'])['id']) : last;
});

/** By status 4xx (not 429) and message: the documentation names neither a status nor a code. */
export function isContainerNotFound(error: unknown): boolean {
  if (!(error instanceof HttpError)) return false;
  const isClientError = error.status >= 400 && error.status < 500 && error.status !== 429;
  return isClientError && /container/i.test(error.message);
}
