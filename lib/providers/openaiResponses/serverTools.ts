import { nonEmptyArray, omitUndefined, type Fields, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { Part } from '../../core/message.js';
import { applyPatchTool, computerTool, customTool, localShellTool, shellTool, toolSearchTool } from './clientTools.js';
import { provider } from './models.js';
import { serverSupport, type ServerSupport } from './serverSupport.js';
import { requireNumber } from '../../core/options.js';
import type { OfType } from '../../core/typesOf.js';

/** A tool that OpenAI runs, in the API's format. `responsesTools` creates it. */
export interface ResponsesTool {
  /** An entry of the request's `tools`. */
  readonly definition: JsonObject;
  /** Entries that the tool adds to the request's `include`. Default: none. */
  readonly include?: readonly string[];
  /** What such tools need of the model. Only who imports them has it in a bundle. */
  readonly support: ServerSupport;
}

/**
 * The built-in tools of the Responses API (OpenAI's guide "Using tools").
 *
 * Some tools run on OpenAI's servers. Pass them to the model:
 *
 * ```ts
 * const model = openai('gpt-6.1-terra', {
 *   serverTools: [responsesTools.webSearch({ contextSize: 'low' }), responsesTools.codeInterpreter()],
 * });
 * ```
 *
 * Each change of such a call is emitted as metadata under `serverTools` (`ServerTool`); their results become files and
 * sources. These tools never call your own tools. A call of an MCP server may have to be approved with `mcpApproval`.
 *
 * The others (`custom`, `shell`, `applyPatch`, `computer`, `toolSearch`, `localShell`) are answered by your own
 * function. Pass them to the agent, like any tool:
 *
 * ```ts
 * const agent = createAgent({ model, tools: [responsesTools.shell(({ commands }) => commands.map(run))] });
 * ```
 *
 * A provider that does not have the tool gets a function with the same name and arguments.
 */
export const responsesTools = {
  custom: customTool,
  shell: shellTool,
  localShell: localShellTool,
  applyPatch: applyPatchTool,
  computer: computerTool,
  toolSearch: toolSearchTool,

  /**
   * Searches the request's own tools that have `providerOptions: { openai: { defer_loading: true } }`: the
   * model sees these only after it has found them.
   */
  hostedToolSearch(): ResponsesTool {
    return createTool({ type: 'tool_search', execution: 'server' });
  },

  /** Searches the web. The pages that the response cites are emitted as sources. */
  webSearch({ allowedDomains, contextSize, location, sources = false }: WebSearchOptions = {}): ResponsesTool {
    const definition = {
      type: 'web_search',
      filters: allowedDomains && { allowed_domains: allowedDomains },
      search_context_size: contextSize,
      user_location: location && { type: 'approximate', ...omitUndefined({ ...location }) },
    };
    return createTool(definition, sources ? ['web_search_call.action.sources'] : []);
  },

  /**
   * Searches files in vector stores. The files that the response cites are emitted as sources. If there are no vector
   * stores, the tool is omitted from the request.
   */
  fileSearch(options: FileSearchOptions): ResponsesTool {
    const { vectorStoreIds, filters, maxResults, ranker, scoreThreshold, results = false } = options;
    requireNumber('maxResults', maxResults, 1, 50);
    requireNumber('scoreThreshold', scoreThreshold, 0, 1);
    const ranking = omitUndefined({ ranker, score_threshold: scoreThreshold });
    const definition = {
      type: 'file_search',
      vector_store_ids: vectorStoreIds,
      filters,
      max_num_results: maxResults,
      ranking_options: Object.keys(ranking).length > 0 ? ranking : undefined,
    };
    return createTool(definition, results ? ['file_search_call.results'] : []);
  },

  /**
   * Runs Python in a container. Without `container`, OpenAI creates a container, and the conversation continues to use
   * it; if it has expired (after 20 minutes without use), OpenAI creates another one. Images that the code displays are
   * emitted as files. Files that the code writes and the response cites are emitted as sources, with the id of their
   * container in `providerData`.
   */
  codeInterpreter({ container, fileIds, memoryLimit, outputs = true }: CodeInterpreterOptions = {}): ResponsesTool {
    const auto = { type: 'auto', ...omitUndefined({ file_ids: fileIds, memory_limit: memoryLimit }) };
    const definition = { type: 'code_interpreter', container: container ?? auto };
    return createTool(definition, outputs ? ['code_interpreter_call.outputs'] : []);
  },

  /** Creates images. Each image is emitted as a file; partial images are emitted as metadata. */
  imageGeneration(options: ImageGenerationOptions = {}): ResponsesTool {
    requireNumber('compression', options.compression, 0, 100);
    requireNumber('partialImages', options.partialImages, 0, 3);
    return createTool({
      type: 'image_generation',
      model: options.model,
      action: options.action,
      size: options.size,
      quality: options.quality,
      output_format: options.format,
      output_compression: options.compression,
      background: options.background,
      moderation: options.moderation,
      input_fidelity: options.inputFidelity,
      partial_images: options.partialImages,
    });
  },

  /**
   * Calls the tools of a remote MCP server or of an OpenAI connector. By default, the API requires an approval for each
   * call (`mcpApproval`).
   */
  mcp(options: McpOptions): ResponsesTool {
    return createTool({
      type: 'mcp',
      server_label: options.serverLabel,
      server_url: options.serverUrl,
      connector_id: options.connectorId,
      server_description: options.description,
      allowed_tools: options.allowedTools,
      headers: options.headers,
      authorization: options.authorization,
      require_approval: encodeApproval(options.requireApproval),
    });
  },

  /** Creates any other tool that OpenAI runs, in the API's format: `other({ type: 'programmatic_tool_calling' })`. */
  other: (definition: JsonObject & { readonly type: string }, include: readonly string[] = []): ResponsesTool =>
    createTool(definition, include),
};

function encodeApproval(approval: McpOptions['requireApproval']): JsonValue | undefined {
  if (typeof approval !== 'object') return approval;
  return omitUndefined({ always: toolFilter(approval.always), never: toolFilter(approval.never) });
}

const toolFilter = (names: readonly string[] | undefined): JsonObject | undefined => names && { tool_names: names };

function createTool(definition: Fields, include: readonly string[] = []): ResponsesTool {
  return omitUndefined({
    definition: omitUndefined(definition),
    include: nonEmptyArray(include),
    support: serverSupport,
  });
}

/**
 * Replies to an approval request of an MCP server, in the next user message. The request is emitted as metadata under
 * `serverTools`, with the status `running` and `raw.type` `mcp_approval_request`.
 *
 * ```ts
 * agent.stream(userMessage([mcpApproval(request.id, true)]), { history });
 * ```
 *
 * @param requestId The `id` of the request.
 * @param approve Whether the tool may be called. Default: true.
 * @param reason The reason, for the model. Default: none.
 * @returns A part for a user message. Other providers ignore it.
 */
export function mcpApproval(requestId: string, approve = true, reason?: string): OfType<Part, 'provider'> {
  const reply = { type: 'mcp_approval_response', approval_request_id: requestId, approve, reason };
  return { type: 'provider', provider, data: omitUndefined(reply) };
}

/** The options of web search. */
interface WebSearchOptions {
  /** The only domains to search, without `https://`; subdomains are included. Default: all. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** How much of the results the model reads. Default: the API's default, `medium`. */
  readonly contextSize?: 'low' | 'medium' | 'high' | undefined;
  /** The user's approximate location. Country: two letters; time zone: its IANA name. Default: not sent. */
  readonly location?:
    | { readonly city?: string; readonly region?: string; readonly country?: string; readonly timezone?: string }
    | undefined;
  /** Whether the metadata lists all visited pages, not only the cited pages. Default: false. */
  readonly sources?: boolean | undefined;
}

/** The options of file search. */
interface FileSearchOptions {
  /** The ids of the vector stores that contain the files. */
  readonly vectorStoreIds: readonly string[];
  /** A filter on the files' attributes: `{ type: 'eq', key: 'year', value: 2024 }`. Default: none. */
  readonly filters?: JsonObject | undefined;
  /** The maximum number of passages, 1 to 50. Default: the API's default. */
  readonly maxResults?: number | undefined;
  /** The ranker, which scores the passages. Default: the API's default, `auto`. */
  readonly ranker?: string | undefined;
  /** The minimum score of a passage, 0 to 1. Default: the API's default. */
  readonly scoreThreshold?: number | undefined;
  /** Whether the metadata lists the passages that were found. Default: false. */
  readonly results?: boolean | undefined;
}

/** The options of the code interpreter. */
interface CodeInterpreterOptions {
  /** The id of an existing container. Default: the container of the conversation's earlier code, or a new one. */
  readonly container?: string | undefined;
  /** The ids of uploaded files for a new container. Default: none. */
  readonly fileIds?: readonly string[] | undefined;
  /** The memory of a new container. Default: the API's default, `1g`. */
  readonly memoryLimit?: '1g' | '4g' | '16g' | '64g' | undefined;
  /** Whether the output of the code is returned: images as files, logs in the metadata. Default: true. */
  readonly outputs?: boolean | undefined;
}

/** The options of image generation. Omitted options keep the API's defaults. */
interface ImageGenerationOptions {
  /** The image model. */
  readonly model?: string | undefined;
  /** Whether to create a new image or to edit an image of the conversation. */
  readonly action?: 'generate' | 'edit' | 'auto' | undefined;
  /** Width and height in pixels (`1024x1536`), or `auto`. */
  readonly size?: string | undefined;
  readonly quality?: 'low' | 'medium' | 'high' | 'auto' | undefined;
  readonly format?: 'png' | 'webp' | 'jpeg' | undefined;
  /** The compression level, 0 to 100, for `webp` and `jpeg`. */
  readonly compression?: number | undefined;
  readonly background?: 'transparent' | 'opaque' | 'auto' | undefined;
  readonly moderation?: 'auto' | 'low' | undefined;
  /** How closely the output follows the input images. */
  readonly inputFidelity?: 'high' | 'low' | undefined;
  /** The number of partial images (previews), 0 to 3. */
  readonly partialImages?: number | undefined;
}

/** The options of a remote MCP server (`serverUrl`) or of an OpenAI connector (`connectorId`). */
type McpOptions = {
  /** The server's name in calls and approval requests. */
  readonly serverLabel: string;
  /** The purpose of the server, for the model. Default: not sent. */
  readonly description?: string | undefined;
  /** The only tools that the model may call. Default: all. */
  readonly allowedTools?: readonly string[] | undefined;
  /** Which calls require an approval: all, none, or those of the named tools. Default: the API's default, `always`. */
  readonly requireApproval?:
    | 'always'
    | 'never'
    | { readonly always?: readonly string[]; readonly never?: readonly string[] }
    | undefined;
  /** The headers for the server. OpenAI does not store them, and no error contains them. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** An OAuth access token for the server. No error contains it. Default: none. */
  readonly authorization?: string | undefined;
} & (
  | { readonly serverUrl: string; readonly connectorId?: never }
  | { /** The connector's id, such as `connector_gmail`. */ readonly connectorId: string; readonly serverUrl?: never }
);
