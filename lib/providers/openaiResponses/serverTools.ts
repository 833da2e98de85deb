import { nonEmptyArray, nonEmptyString, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import type { Fields, JsonObject, JsonValue } from '../../core/json/json.js';
import type { Part, TextPart } from '../../core/message.js';
import { provider } from './models.js';
import type {
  CodeInterpreterOptions,
  FileSearchOptions,
  ImageGenerationOptions,
  McpOptions,
  WebSearchOptions,
} from './serverToolOptions.js';

/** A tool that OpenAI runs, in the API's format. Made by `responsesTools`. */
export interface ResponsesTool {
  /** An entry of the request's `tools`. */
  readonly definition: JsonObject;
  /** What the tool adds to the request's `include`. Default: nothing. */
  readonly include?: readonly string[];
}

/**
 * The tools that OpenAI runs on its side of the Responses API, as its guide "Using tools" describes them. Pass them to
 * the model:
 *
 * ```ts
 * const model = openaiResponses('gpt-5', {
 *   serverTools: [responsesTools.webSearch({ contextSize: 'low' }), responsesTools.codeInterpreter()],
 * });
 * ```
 *
 * What they do is reported as metadata under `openai-responses`, in order: `{ type, id, status }`, fragments of code as
 * `delta`, at the end the complete item. What they make becomes files and sources. They call none of your tools; two of
 * them require an answer: an MCP server's tool that needs an approval (`mcpApproval`), and the local shell
 * (`localShellOutput`).
 */
export const responsesTools = {
  /** Searches the web. The pages that the answer cites are sources. */
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
   * Searches files in vector stores. The files that the answer cites are sources. Without a vector store the tool is
   * omitted from the request.
   */
  fileSearch(options: FileSearchOptions): ResponsesTool {
    const { vectorStoreIds, filters, maxResults, ranker, scoreThreshold, results = false } = options;
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
   * Runs Python in a container. Without `container` OpenAI creates one, and the conversation stays in it: the container
   * that the history's code ran in last is used again, or a new one when that has expired (after 20 minutes without use).
   * Images that the code shows are files. Files that it writes and the answer cites are sources, with their container
   * under `providerData`.
   */
  codeInterpreter({ container, fileIds, memoryLimit, outputs = true }: CodeInterpreterOptions = {}): ResponsesTool {
    const auto = { type: 'auto', ...omitUndefined({ file_ids: fileIds, memory_limit: memoryLimit }) };
    const definition = { type: 'code_interpreter', container: container ?? auto };
    return createTool(definition, outputs ? ['code_interpreter_call.outputs'] : []);
  },

  /** Makes images: each is a file. Partial images are metadata. */
  imageGeneration(options: ImageGenerationOptions = {}): ResponsesTool {
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
   * Calls the tools of a remote MCP server, or of one of OpenAI's connectors. By the API's default each call requires an
   * approval (`mcpApproval`).
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

  /**
   * Lets the model ask for commands on your machine (`codex-mini-latest`). They are reported as metadata; run them or
   * not, and send `localShellOutput`.
   */
  localShell: (): ResponsesTool => createTool({ type: 'local_shell' }),

  /** Any other tool of the API, in the API's format: `other({ type: 'computer_use_preview', ... })`. */
  other: (definition: JsonObject & { readonly type: string }, include: readonly string[] = []): ResponsesTool =>
    createTool(definition, include),
};

function encodeApproval(approval: McpOptions['requireApproval']): JsonValue | undefined {
  if (typeof approval !== 'object') return approval;
  return omitUndefined({ always: toolFilter(approval.always), never: toolFilter(approval.never) });
}

const toolFilter = (names: readonly string[] | undefined): JsonObject | undefined => names && { tool_names: names };

function createTool(definition: Fields, include: readonly string[] = []): ResponsesTool {
  return omitUndefined({ definition: omitUndefined(definition), include: nonEmptyArray(include) });
}

/** Whether a tool can do anything: the API refuses a file search without vector stores. */
export function isUsable({ definition }: ResponsesTool): boolean {
  const stores = definition['vector_store_ids'];
  return definition['type'] !== 'file_search' || (Array.isArray(stores) && stores.length > 0);
}

/** The secrets in a tool's definition: an MCP server's token and headers. */
export function secretsIn({ definition }: ResponsesTool): readonly string[] {
  const { authorization, headers } = definition;
  return [authorization, ...Object.values(objectOrEmpty(headers))].flatMap((value) => nonEmptyString(value) ?? []);
}

/** Whether OpenAI chooses the container of a tool (`{ type: 'auto' }`). */
export function hasAutoContainer({ type, container }: JsonObject): boolean {
  return type === 'code_interpreter' && objectOrEmpty(container)['type'] === 'auto';
}

/** Sets the container of a tool for which OpenAI would choose one. */
export function withContainer(definition: JsonObject, container: string | undefined): JsonObject {
  return container !== undefined && hasAutoContainer(definition) ? { ...definition, container } : definition;
}

/**
 * Answers an MCP server's request for approval (`mcp_approval_request`, reported as metadata under `openai-responses`) in
 * the next message:
 *
 * ```ts
 * agent.stream(userMessage([mcpApproval(request.id, true)]), { history });
 * ```
 *
 * @param requestId The `id` of the request.
 * @param approve Whether the tool may be called. Default: true.
 * @param reason The reason, for the model. Default: none.
 * @returns A part of a user's message. Other providers ignore it.
 */
export function mcpApproval(requestId: string, approve = true, reason?: string): TextPart {
  return replyPart(omitUndefined({ type: 'mcp_approval_response', approval_request_id: requestId, approve, reason }));
}

/**
 * Answers a command of the local shell (`local_shell_call`, reported as metadata under `openai-responses` with its
 * `action`) in the next message.
 *
 * @param callId The `call_id` of the call.
 * @param output What the command printed, or any other text for the model.
 * @returns A part of a user's message. Other providers ignore it.
 */
export function localShellOutput(callId: string, output: string): TextPart {
  return replyPart({ type: 'local_shell_call_output', call_id: callId, output });
}

/** An empty text that carries an input item of the Responses API. */
const replyPart = (item: JsonObject): TextPart => ({ type: 'text', text: '', providerData: { [provider]: { item } } });

/** The input item that a part of a user's message carries, if any. */
export function replyItems(part: Part): readonly JsonObject[] {
  const data = part.type === 'text' ? part.providerData?.[provider] : undefined;
  const item = objectOrEmpty(objectOrEmpty(data)['item']);
  return nonEmptyString(item['type']) === undefined ? [] : [item];
}
