import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Request, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { WireRequest } from '../../protocol/wire.js';
import { encodeContents, encodeInstructions } from './messages.js';
import { encodeThinking } from './models.js';
import { isMixed } from './serverTools.js';
import type { GoogleTool } from './serverTools.js';

/**
 * The request of `streamGenerateContent` (API reference, "Generating content"). What the request leaves open is left to the API's default.
 *
 * @param model The model's name, with or without `models/`.
 * @param request What is asked for.
 * @param serverTools The tools that Google runs. Default: none.
 * @throws ConfigurationError `capability` or `options` for a wish that the model, or the API, has no field for.
 */
export function encodeGoogle(model: string, request: Request, serverTools: readonly GoogleTool[] = []): WireRequest {
  const { messages, output } = request;
  const functions = toolsFor(request);
  const mixed = isMixed(model, request, serverTools);
  const tools = [
    ...(functions ? [{ functionDeclarations: functions.map(encodeTool) }] : []),
    ...serverTools.map(({ definition }) => definition),
  ];
  const toolConfig = omitUndefined({
    functionCallingConfig: functions && request.toolChoice && encodeToolChoice(request.toolChoice, mixed),
    includeServerSideToolInvocations: mixed || undefined,
  });
  const generationConfig = omitUndefined({
    temperature: request.temperature,
    topP: request.topP,
    maxOutputTokens: request.maxOutputTokens,
    stopSequences: request.stopSequences?.length ? request.stopSequences : undefined,
    seed: request.seed,
    responseMimeType: output && 'application/json',
    responseJsonSchema: output,
    thinkingConfig: request.thinking === undefined ? undefined : encodeThinking(model, request.thinking),
  });
  const body = omitUndefined({
    systemInstruction: encodeInstructions(messages),
    contents: encodeContents(model, messages),
    tools: tools.length > 0 ? tools : undefined,
    toolConfig: Object.keys(toolConfig).length > 0 ? toolConfig : undefined,
    generationConfig: Object.keys(generationConfig).length > 0 ? generationConfig : undefined,
  });
  return { path: `${pathOf(model)}:streamGenerateContent?alt=sse`, body };
}

/** `models/` is the place of all but tuned models, whose names say theirs. */
function pathOf(model: string): string {
  const name = model.split('/').map(encodeURIComponent).join('/');
  return name.includes('/') ? `/${name}` : `/models/${name}`;
}

function toolsFor({ tools = [], parallelToolCalls }: Request): readonly ToolDefinition[] | undefined {
  if (tools.length === 0) return undefined;
  if (parallelToolCalls === false) {
    throw new ConfigurationError(
      'options',
      'google has no field that forbids several calls in one turn.',
      'Leave parallelToolCalls out.',
    );
  }
  return tools;
}

/** A tool without parameters declares none: the API refuses an object without properties. */
function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  const { properties, ...others } = parameters;
  const none = Object.keys(properties ?? {}).length === 0 && Object.keys(others).every((field) => plain.has(field));
  return omitUndefined({ name, description, parametersJsonSchema: none ? undefined : parameters });
}

/** What a schema of type object may say besides and still take nothing. */
const plain: ReadonlySet<string> = new Set([
  'type',
  'additionalProperties',
  'required',
  '$schema',
  'description',
  'title',
]);

/** The modes of `FunctionCallingConfig`. Beside Google's own tools, `VALIDATED` stands for `AUTO` (guide "Combine built-in tools and function calling"). */
function encodeToolChoice(choice: ToolChoice, mixed: boolean): JsonObject {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.name] };
  if (choice === 'auto') return { mode: mixed ? 'VALIDATED' : 'AUTO' };
  return { mode: choice === 'required' ? 'ANY' : 'NONE' };
}
