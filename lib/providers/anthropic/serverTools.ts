import { HttpError } from '../../core/errors.js';
import { omitUndefined, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { Fields, JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import { mergeHeaders } from '../../protocol/request.js';

/** A tool that Anthropic runs, in the API's format. Made by `anthropicTools`, or by hand if it is not among them. */
export interface AnthropicTool {
  /** An entry of the request's `tools`. */
  readonly definition: JsonObject;
  /** What the `anthropic-beta` header has to name for the tool. Default: nothing. */
  readonly betas?: readonly string[];
}

/** Limits of a tool that searches or reads the web. The API accepts one of the two lists of domains. */
interface DomainOptions {
  /** How often the tool may run in one request. Default: no limit. */
  readonly maxUses?: number | undefined;
  /** The only domains to use, without `https://`; subdomains are included. Default: all. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** The domains not to use, without `https://`; subdomains are included. Default: none. */
  readonly blockedDomains?: readonly string[] | undefined;
}

/** The options of the web search. */
export interface AnthropicWebSearchOptions extends DomainOptions {
  /** The user's approximate location. Country: two letters; time zone: its IANA name. Default: not sent. */
  readonly userLocation?:
    | { readonly city?: string; readonly region?: string; readonly country?: string; readonly timezone?: string }
    | undefined;
  /**
   * The tool's version. Since `20260209` the model filters the results by code, which models before the 4.6 family
   * cannot do. Default: `20250305`.
   */
  readonly version?: string | undefined;
}

/** The options of the web fetch. */
export interface AnthropicWebFetchOptions extends DomainOptions {
  /** Whether answers cite passages of the fetched pages. Default: false. */
  readonly citations?: boolean | undefined;
  /** The longest content that the model reads, in tokens; longer content is truncated. Default: no limit. */
  readonly maxContentTokens?: number | undefined;
  /**
   * The tool's version. Since `20260209` the model filters pages by code, which models before the 4.6 family cannot do.
   * Default: `20250910`.
   */
  readonly version?: string | undefined;
}

/** The options of the code execution. */
export interface AnthropicCodeExecutionOptions {
  /**
   * The tool's version. Since `20260120` variables outlive an execution, and code can call tools. Default: `20250825`.
   */
  readonly version?: string | undefined;
}

/**
 * The tools that Anthropic runs on its side of the Messages API (platform.claude.com, "Web search tool", "Web fetch
 * tool", "Code execution tool"). Pass them to the model:
 *
 * ```ts
 * const model = anthropic('claude-sonnet-4-5', {
 *   serverTools: [anthropicTools.webSearch({ maxUses: 3 }), anthropicTools.codeExecution()],
 * });
 * ```
 *
 * Each call and each result is reported as metadata (`serverTool`: the unchanged block), in order of arrival. What the
 * tools find and make becomes sources and files. The default versions run on every model that has the tool.
 */
export const anthropicTools = {
  /** Searches the web. The passages that the answer cites are sources; the metadata holds all results. */
  webSearch({ userLocation, version = '20250305', ...domains }: AnthropicWebSearchOptions = {}): AnthropicTool {
    return createTool(`web_search_${version}`, 'web_search', {
      ...encodeDomains(domains),
      user_location: userLocation && { type: 'approximate', ...omitUndefined({ ...userLocation }) },
    });
  },

  /** Fetches pages and PDFs that the conversation names. Each is a source, and its content a file. */
  webFetch(options: AnthropicWebFetchOptions = {}): AnthropicTool {
    const { citations, maxContentTokens, version = '20250910', ...domains } = options;
    return createTool(`web_fetch_${version}`, 'web_fetch', {
      ...encodeDomains(domains),
      citations: citations === undefined ? undefined : { enabled: citations },
      max_content_tokens: maxContentTokens,
    });
  },

  /**
   * Runs commands and edits files in a container. A conversation goes on in the container of its last answer; if that
   * has expired, in a new one. Files that the code makes are sources whose `id` is that of the Files API
   * (`GET /v1/files/{id}/content`).
   */
  codeExecution({ version = '20250825' }: AnthropicCodeExecutionOptions = {}): AnthropicTool {
    return createTool(`code_execution_${version}`, 'code_execution', {});
  },
} as const;

const encodeDomains = ({ maxUses, allowedDomains, blockedDomains }: DomainOptions) => ({
  max_uses: maxUses,
  allowed_domains: allowedDomains,
  blocked_domains: blockedDomains,
});

/**
 * The beta names of versions that began as betas, as the tools' documentation gave them. The header is still sent:
 * compatible servers that lag behind Anthropic's own require it. Later versions need none.
 */
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

/** Keeps the later of two tools that share a name: the API requires unique names. */
export function uniqueTools(tools: readonly AnthropicTool[]): readonly AnthropicTool[] {
  return [...new Map(tools.map((tool) => [nonEmptyString(tool.definition['name']) ?? tool, tool])).values()];
}

/**
 * Adds the betas of tools to the user's `anthropic-beta` header, each once.
 *
 * @param headers The user's headers.
 * @param tools The tools that Anthropic runs.
 * @returns The user's headers unchanged if no tool needs a beta.
 */
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

/** Whether one of the tools runs code: to execute the model's code, or to filter what it found. */
export function runsCode(tools: readonly AnthropicTool[]): boolean {
  return tools.some(({ definition }) => {
    const [, kind, version = ''] = toolType.exec(nonEmptyString(definition['type']) ?? '') ?? [];
    return kind === 'code_execution' || (kind !== undefined && version >= '20260209');
  });
}

const toolType = /^(code_execution|web_search|web_fetch)_(\d{8})$/;

/**
 * The id of the container that the conversation's code ran in last. Its files are there, and the API requires it while
 * code waits for the result of a call ("container_id is required when there are pending tool uses generated by code
 * execution with tools").
 */
export function lastContainer(messages: readonly Message[]): string | undefined {
  for (const { metadata } of [...messages].reverse()) {
    const id = nonEmptyString(objectOrEmpty(objectOrEmpty(metadata?.['anthropic'])['container'])['id']);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** Whether a request failed because its container is gone. The API's documentation says to send it again without one. */
export function isContainerLost(error: unknown): boolean {
  if (!(error instanceof HttpError)) return false;
  const isClientError = error.status >= 400 && error.status < 500 && error.status !== 429;
  return isClientError && /container/i.test(error.body);
}
