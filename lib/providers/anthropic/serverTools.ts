import { HttpError } from '../../core/errors.js';
import { omitUndefined, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { Fields, JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import { mergeHeaders } from '../../protocol/request.js';

/** A tool that Anthropic runs, as its API takes it. Made by `anthropicTools`, or by hand for one that is not among them. */
export interface AnthropicTool {
  /** An entry of the request's `tools`. */
  readonly definition: JsonObject;
  /** What the `anthropic-beta` header has to name for it. Default: nothing. */
  readonly betas?: readonly string[];
}

/** Where the web is searched or read. The API takes one of the two lists, of domains without `https://`; subdomains are included. */
interface DomainOptions {
  /** How often in one request. Default: as often as the model likes. */
  readonly maxUses?: number | undefined;
  /** Only these. Default: all. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** All but these. Default: none. */
  readonly blockedDomains?: readonly string[] | undefined;
}

/** How the web is searched. */
export interface AnthropicWebSearchOptions extends DomainOptions {
  /** Where the user is, roughly. Country: two letters; time zone: as IANA names it. Default: not said. */
  readonly userLocation?:
    | { readonly city?: string; readonly region?: string; readonly country?: string; readonly timezone?: string }
    | undefined;
  /** The tool's version. From `20260209` on the model filters results by code, which models before the 4.6 family cannot. Default: `20250305`. */
  readonly version?: string | undefined;
}

/** How pages are fetched. */
export interface AnthropicWebFetchOptions extends DomainOptions {
  /** Whether answers cite passages of what was fetched. Default: false. */
  readonly citations?: boolean | undefined;
  /** The longest content that the model gets to read, in tokens; the rest is cut off. Default: no limit. */
  readonly maxContentTokens?: number | undefined;
  /** The tool's version. From `20260209` on the model filters pages by code, which models before the 4.6 family cannot. Default: `20250910`. */
  readonly version?: string | undefined;
}

/** How code is executed. */
export interface AnthropicCodeExecutionOptions {
  /** The tool's version. From `20260120` on variables outlive an execution, and code can call tools. Default: `20250825`. */
  readonly version?: string | undefined;
}

/**
 * The tools that Anthropic runs on its side of the Messages API (platform.claude.com, "Web search tool", "Web fetch tool", "Code execution tool").
 * They are given to the model:
 *
 * ```ts
 * const model = anthropic('claude-sonnet-4-5', {
 *   serverTools: [anthropicTools.webSearch({ maxUses: 3 }), anthropicTools.codeExecution()],
 * });
 * ```
 *
 * What they do is told as metadata (`serverTool`: the block as it came), in order: each call, then its result. What they find and make are sources
 * and files. The versions that are the default run on all models that have the tool.
 */
export const anthropicTools = {
  /** Searches the web. The passages that the answer cites are sources; all that was found is in the metadata. */
  webSearch({ userLocation, version = '20250305', ...domains }: AnthropicWebSearchOptions = {}): AnthropicTool {
    const user_location = userLocation && { type: 'approximate', ...omitUndefined({ ...userLocation }) };
    return made(`web_search_${version}`, 'web_search', { ...encodeDomains(domains), user_location });
  },

  /** Fetches pages and PDF that the conversation names. Each is a source, and what was read of it a file. */
  webFetch({
    citations,
    maxContentTokens,
    version = '20250910',
    ...domains
  }: AnthropicWebFetchOptions = {}): AnthropicTool {
    return made(`web_fetch_${version}`, 'web_fetch', {
      ...encodeDomains(domains),
      citations: citations === undefined ? undefined : { enabled: citations },
      max_content_tokens: maxContentTokens,
    });
  },

  /**
   * Runs commands and edits files in a container. A conversation goes on in the container that its last answer ran in; if that has expired, in a new
   * one. Files that were made are sources whose `id` is that of the Files API (`GET /v1/files/{id}/content`).
   */
  codeExecution({ version = '20250825' }: AnthropicCodeExecutionOptions = {}): AnthropicTool {
    return made(`code_execution_${version}`, 'code_execution', {});
  },
} as const;

const encodeDomains = ({ maxUses, allowedDomains, blockedDomains }: DomainOptions) => ({
  max_uses: maxUses,
  allowed_domains: allowedDomains,
  blocked_domains: blockedDomains,
});

/**
 * The versions that began as betas, with the names of these, as the tools' documents gave them. The header is sent still: servers of the same API that
 * are behind Anthropic's own ask for it. Later versions need none.
 */
const betas: ReadonlyMap<string, string> = new Map([
  ['web_fetch_20250910', 'web-fetch-2025-09-10'],
  ['code_execution_20250522', 'code-execution-2025-05-22'],
  ['code_execution_20250825', 'code-execution-2025-08-25'],
]);

function made(type: string, name: string, fields: Fields): AnthropicTool {
  const beta = betas.get(type);
  return omitUndefined({
    definition: { type, name, ...omitUndefined(fields) },
    betas: beta === undefined ? undefined : [beta],
  });
}

/** The tools, of two with a name the later one: the API wants names to be unique. */
export function uniqueTools(tools: readonly AnthropicTool[]): readonly AnthropicTool[] {
  return [...new Map(tools.map((tool) => [nonEmptyString(tool.definition['name']) ?? tool, tool])).values()];
}

/**
 * Headers that ask for the betas of tools, behind those that the user asks for, each once.
 *
 * @param headers The user's.
 * @param tools The tools that Anthropic runs.
 * @returns The user's headers, if there is nothing to ask for.
 */
export function withBetas(
  headers: Readonly<Record<string, string>> | undefined,
  tools: readonly AnthropicTool[],
): Readonly<Record<string, string>> | undefined {
  const wanted = tools.flatMap((tool) => tool.betas ?? []);
  if (wanted.length === 0) return headers;
  const given = mergeHeaders(headers);
  const all = [...(given['anthropic-beta'] ?? '').split(','), ...wanted]
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '');
  return { ...given, 'anthropic-beta': [...new Set(all)].join(',') };
}

/** Whether code runs for one of the tools: that is what it is for, or the way in which it filters what it found. */
export const runsCode = (tools: readonly AnthropicTool[]): boolean =>
  tools.some(({ definition }) => {
    const [, kind, version = ''] =
      /^(code_execution|web_search|web_fetch)_(\d{8})$/.exec(nonEmptyString(definition['type']) ?? '') ?? [];
    return kind === 'code_execution' || (kind !== undefined && version >= '20260209');
  });

/**
 * The container that the conversation's code ran in last: its files are there, and the API demands it as long as code waits for the result of a call
 * ("container_id is required when there are pending tool uses generated by code execution with tools").
 */
export function lastContainer(messages: readonly Message[]): string | undefined {
  for (const { metadata } of [...messages].reverse()) {
    const id = nonEmptyString(objectOrEmpty(objectOrEmpty(metadata?.['anthropic'])['container'])['id']);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** Whether a request failed because its container is gone: the API's documents say to send it again without. */
export const lostContainer = (error: unknown): boolean =>
  error instanceof HttpError &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 429 &&
  /container/i.test(error.body);
