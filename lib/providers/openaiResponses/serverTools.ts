import { omitUndefined, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { Fields, JsonObject } from '../../core/json/json.js';
import type { Part, TextPart } from '../../core/message.js';
import { provider } from './models.js';
import type {
  CodeInterpreterOptions,
  FileSearchOptions,
  ImageGenerationOptions,
  McpOptions,
  WebSearchOptions,
} from './serverToolOptions.js';

/** A tool that OpenAI runs, as its API takes it. Made by `responsesTools`. */
export interface ResponsesTool {
  /** An entry of the request's `tools`. */
  readonly definition: JsonObject;
  /** What has to be asked for with it (`include` of the request). Default: nothing. */
  readonly include?: readonly string[];
}

/**
 * The tools that OpenAI runs on its side of the Responses API, as its guide "Using tools" describes them. They are given to the model:
 *
 * ```ts
 * const model = openaiResponses('gpt-5', {
 *   serverTools: [responsesTools.webSearch({ contextSize: 'low' }), responsesTools.codeInterpreter()],
 * });
 * ```
 *
 * What they do is told as metadata under `openai-responses`, in order: `{ type, id, status }`, pieces of code as `delta`, at the end the whole item.
 * What they make are files and sources. They call nothing of yours; two ask something of you: an MCP server's tool that wants an approval
 * (`mcpApproval`), and the local shell (`localShellOutput`).
 */
export const responsesTools = {
  /** Searches the web. The pages that the answer cites are sources. */
  webSearch({ allowedDomains, contextSize, location, sources = false }: WebSearchOptions = {}): ResponsesTool {
    return made(
      {
        type: 'web_search',
        filters: allowedDomains && { allowed_domains: allowedDomains },
        search_context_size: contextSize,
        user_location: location && { type: 'approximate', ...omitUndefined({ ...location }) },
      },
      sources ? ['web_search_call.action.sources'] : [],
    );
  },

  /** Searches files in vector stores. The files that the answer cites are sources. Without a vector store it is left out of the request. */
  fileSearch({
    vectorStoreIds,
    filters,
    maxResults,
    ranker,
    scoreThreshold,
    results = false,
  }: FileSearchOptions): ResponsesTool {
    const ranking = omitUndefined({ ranker, score_threshold: scoreThreshold });
    return made(
      {
        type: 'file_search',
        vector_store_ids: vectorStoreIds,
        filters,
        max_num_results: maxResults,
        ranking_options: Object.keys(ranking).length > 0 ? ranking : undefined,
      },
      results ? ['file_search_call.results'] : [],
    );
  },

  /**
   * Runs Python in a container. Without `container` OpenAI makes one, and the conversation stays in it: the container of the last answer in the
   * history that ran code is used again, or a new one when that has expired (after 20 minutes without use). Images that the code shows are files;
   * files that it leaves behind and the answer cites are sources, with their container under `providerData`.
   */
  codeInterpreter({ container, fileIds, memoryLimit, outputs = true }: CodeInterpreterOptions = {}): ResponsesTool {
    const auto = { type: 'auto', ...omitUndefined({ file_ids: fileIds, memory_limit: memoryLimit }) };
    return made(
      { type: 'code_interpreter', container: container ?? auto },
      outputs ? ['code_interpreter_call.outputs'] : [],
    );
  },

  /** Makes images: each is a file. Partial ones are metadata. */
  imageGeneration(options: ImageGenerationOptions = {}): ResponsesTool {
    const { model, action, size, quality, format, compression, background, moderation, inputFidelity, partialImages } =
      options;
    return made({
      ...{ type: 'image_generation', model, action, size, quality, background, moderation },
      ...{
        output_format: format,
        output_compression: compression,
        input_fidelity: inputFidelity,
        partial_images: partialImages,
      },
    });
  },

  /** Calls the tools of a remote MCP server, or of a connector of OpenAI's. By the API's default each call wants an approval (`mcpApproval`). */
  mcp(options: McpOptions): ResponsesTool {
    const { serverLabel, serverUrl, connectorId, description, allowedTools, requireApproval, headers, authorization } =
      options;
    return made({
      ...{
        type: 'mcp',
        server_label: serverLabel,
        server_url: serverUrl,
        connector_id: connectorId,
        server_description: description,
      },
      ...{ allowed_tools: allowedTools, headers, authorization },
      require_approval:
        typeof requireApproval === 'object'
          ? omitUndefined({ always: named(requireApproval.always), never: named(requireApproval.never) })
          : requireApproval,
    });
  },

  /** Has the model ask for commands on your machine (`codex-mini-latest`). They are told as metadata; run them, or not, and send `localShellOutput`. */
  localShell: (): ResponsesTool => made({ type: 'local_shell' }),

  /** Any other tool of the API, as it documents it: `other({ type: 'computer_use_preview', ... })`. */
  other: (definition: JsonObject & { readonly type: string }, include: readonly string[] = []): ResponsesTool =>
    made(definition, include),
};

const named = (tools: readonly string[] | undefined): JsonObject | undefined => tools && { tool_names: tools };

function made(definition: Fields, include: readonly string[] = []): ResponsesTool {
  return omitUndefined({ definition: omitUndefined(definition), include: include.length > 0 ? include : undefined });
}

/** Whether a tool can do anything: a file search without files is refused by the API. */
export function isUsable({ definition }: ResponsesTool): boolean {
  const stores = definition['vector_store_ids'];
  return definition['type'] !== 'file_search' || (Array.isArray(stores) && stores.length > 0);
}

/** The secrets in a tool's definition: an MCP server's token and headers. */
export function secretsIn({ definition }: ResponsesTool): readonly string[] {
  const { authorization, headers } = definition;
  return [authorization, ...Object.values(objectOrEmpty(headers))].flatMap((value) => nonEmptyString(value) ?? []);
}

/**
 * Answers the request of an MCP server's tool to be called (`mcp_approval_request`, told as metadata under `openai-responses`), in the next message:
 *
 * ```ts
 * agent.stream(userMessage([mcpApproval(request.id, true)]), { messages });
 * ```
 *
 * @param requestId The `id` of the request.
 * @param approve Whether the tool may be called. Default: true.
 * @param reason Why, for the model. Default: none is given.
 * @returns A part of a user's message. Other providers ignore it.
 */
export function mcpApproval(requestId: string, approve = true, reason?: string): TextPart {
  return reply(omitUndefined({ type: 'mcp_approval_response', approval_request_id: requestId, approve, reason }));
}

/**
 * What came of a command of the local shell (`local_shell_call`, told as metadata under `openai-responses` with its `action`), in the next message.
 *
 * @param callId The `call_id` of the call.
 * @param output What the command printed, or whatever the model should know of it.
 * @returns A part of a user's message. Other providers ignore it.
 */
export function localShellOutput(callId: string, output: string): TextPart {
  return reply({ type: 'local_shell_call_output', call_id: callId, output });
}

/** An input item of the Responses API, carried by a part that says nothing to anybody else. */
const reply = (item: JsonObject): TextPart => ({ type: 'text', text: '', providerData: { [provider]: { item } } });

/** The input items that a part of a user's message carries. */
export function repliesIn(part: Part): readonly JsonObject[] {
  const own = part.type === 'text' ? part.providerData?.[provider] : undefined;
  const item = objectOrEmpty(objectOrEmpty(own)['item']);
  return nonEmptyString(item['type']) === undefined ? [] : [item];
}
