import { optionsError } from '../../core/errors.js';
import { omitUndefined, type JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { ModelRequest, ToolChoice } from '../../core/model.js';
import { words } from '../../core/words.js';
import { memoizePerTool } from '../../protocol/encodeOnce.js';
import type { WireRequest } from '../../protocol/wire.js';
import { withProviderOptions } from '../shared/providerOptions.js';
import { encodeContents, encodeInstructions } from './messages.js';
import { encodeThinking, findContinuationToken } from '../shared/googleModels.js';
import { provider } from './providerData.js';
import { googleSchema } from '../shared/googleSchema.js';
import { requireCombinable, type GoogleTool } from './serverTools.js';

/** API reference, "Generating content". */
export function encodeGoogle(
  model: string,
  request: ModelRequest,
  serverTools: readonly GoogleTool[] = [],
): WireRequest {
  const { output, tools: functions = [], toolChoice } = request;
  const { messages, continuationToken } = withoutContinued(request.messages);
  if (functions.length > 0 && request.parallelToolCalls === false) throw parallelToolCallsError();
  requireCombinable(model, request, serverTools);
  const isCombined = functions.length > 0 && serverTools.length > 0;
  const tools = [
    ...(functions.length > 0 ? [{ functionDeclarations: functions.map(encodeTool) }] : []),
    ...serverTools.map(({ definition }) => definition),
  ];
  const toolConfig = omitUndefined({
    functionCallingConfig: functions.length > 0 && toolChoice ? encodeToolChoice(toolChoice, isCombined) : undefined,
    includeServerSideToolInvocations: isCombined || undefined,
  });
  const generationConfig = omitUndefined({
    temperature: request.temperature,
    topP: request.topP,
    maxOutputTokens: request.maxOutputTokens,
    stopSequences: request.stopSequences?.length ? request.stopSequences : undefined,
    seed: request.seed,
    responseMimeType: output && 'application/json',
    responseJsonSchema: output && googleSchema(output, 'The output'),
    thinkingConfig: request.thinking === undefined ? undefined : encodeThinking(model, request.thinking),
  });
  const body = omitUndefined({
    systemInstruction: encodeInstructions(messages),
    contents: encodeContents(model, messages),
    tools: tools.length > 0 ? tools : undefined,
    toolConfig: Object.keys(toolConfig).length > 0 ? toolConfig : undefined,
    generationConfig: Object.keys(generationConfig).length > 0 ? generationConfig : undefined,
    continuationToken,
  });
  return { path: `${modelPath(model)}:streamGenerateContent?alt=sse`, body };
}

/** After `CONTINUATION`, the API expects the request with the token, without the model's content. */
function withoutContinued(messages: readonly Message[]): {
  readonly messages: readonly Message[];
  readonly continuationToken?: string;
} {
  const continuationToken = findContinuationToken(messages, provider);
  if (continuationToken === undefined) return { messages };
  return { messages: messages.slice(0, -1), continuationToken };
}

/** Under `/models/`, unless the name contains a folder (`models/`, `tunedModels/`). */
function modelPath(model: string): string {
  const segments = model.split('/');
  if (!segments.every(isPathSegment)) {
    throw optionsError(
      `google: "${model}" is not the name of a model.`,
      "Pass a name like 'gemini-3.8-flash', 'models/...' or 'tunedModels/...'.",
    );
  }
  const name = segments.map(encodeURIComponent).join('/');
  return segments.length > 1 ? `/${name}` : `/models/${name}`;
}

/** `..` would leave the base URL; a lone surrogate has no encoding. */
const isPathSegment = (segment: string): boolean =>
  segment !== '' && segment !== '.' && segment !== '..' && !loneSurrogate.test(segment);

const loneSurrogate = /\p{Surrogate}/u;

const parallelToolCallsError = () =>
  optionsError('google cannot disable parallel tool calls.', 'Omit parallelToolCalls.');

/** Without parameters, the schema is omitted: the API rejects an object schema without properties. */
const encodeTool = /* @__PURE__ */ memoizePerTool((tool) => {
  const { name, description, parameters } = tool;
  const { properties, ...others } = parameters;
  const hasProperties = Object.keys(properties ?? {}).length > 0;
  const hasParameters = hasProperties || Object.keys(others).some((keyword) => !emptyObjectKeywords.has(keyword));
  const declaration = omitUndefined({
    name,
    description,
    parametersJsonSchema: hasParameters ? googleSchema(parameters, `Tool "${name}"`) : undefined,
  });
  return withProviderOptions(declaration, provider, tool);
});

const emptyObjectKeywords: ReadonlySet<string> = /* @__PURE__ */ words(`
  type additionalProperties required $schema description title
`);

/** With Google's tools, `VALIDATED` replaces `AUTO` (guide "Combine built-in tools and function calling"). */
function encodeToolChoice(choice: ToolChoice, isCombined: boolean): JsonObject {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.name] };
  if (choice === 'auto') return { mode: isCombined ? 'VALIDATED' : 'AUTO' };
  return { mode: choice === 'required' ? 'ANY' : 'NONE' };
}
