import { optionsError } from '../../core/errors.js';
import { isJsonObject, omitUndefined } from '../../core/json/json.js';
import type { Fields, JsonObject, JsonSchema, JsonValue } from '../../core/json/json.js';
import type { ModelRequest, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import { memoizePerTool } from '../../protocol/encodeOnce.js';
import type { WireRequest } from '../../protocol/wire.js';
import { withProviderOptions } from '../shared/providerOptions.js';
import { toolsetDefinition } from './computer.js';
import { encodeMessages } from './messages.js';
import { encodeThinking, rejectRefusedSettings, withoutRejectedThinking } from './models.js';
import { isContainerNotFound, findLastContainer, runsCode, uniqueTools, type AnthropicTool } from './serverTools.js';
import { words } from '../../core/words.js';
import { adaptSchema, type SchemaRules } from '../shared/adaptSchema.js';

/** The API's reference, "Create a Message". */
export function encodeAnthropic(
  model: string,
  request: ModelRequest,
  serverTools: readonly AnthropicTool[] = [],
): WireRequest {
  rejectSeed(request);
  rejectRefusedSettings(model, request);
  const { system, messages } = encodeMessages(request.messages);
  const { effort, ...thinkingFields } = withoutRejectedThinking(encodeThinking(model, request), messages);
  const body = omitUndefined({
    model,
    system,
    messages,
    ...encodeTools(request, uniqueTools(serverTools)),
    ...thinkingFields,
    output_config: encodeOutputConfig(request, effort),
    temperature: request.temperature,
    top_p: request.topP,
    stop_sequences: request.stopSequences?.length ? request.stopSequences : undefined,
    stream: true,
  });
  const wireRequest = { path: '/messages', headers: { 'anthropic-version': '2023-06-01' }, body };
  const container = runsCode(serverTools) ? findLastContainer(request.messages) : undefined;
  if (container === undefined) return wireRequest;
  return {
    ...wireRequest,
    body: { ...body, container },
    fallback: (error) => (isContainerNotFound(error) ? wireRequest : undefined),
  };
}

function rejectSeed({ seed }: ModelRequest): void {
  if (seed === undefined) return;
  throw optionsError(`anthropic does not support seed (${seed}).`, 'Omit seed.');
}

function encodeOutputConfig({ output }: ModelRequest, effort: string | undefined): JsonObject | undefined {
  if (!output && effort === undefined) return undefined;
  const format = output && { type: 'json_schema', schema: outputSchema(output) };
  return omitUndefined({ format, effort });
}

/** Without tools, the API rejects a tool choice. */
function encodeTools(
  { tools = [], toolChoice, parallelToolCalls }: ModelRequest,
  serverTools: readonly AnthropicTool[],
): Fields {
  const definitions = serverTools.map(({ definition }) => definition);
  rejectDuplicateName(tools, definitions);
  if (tools.length + definitions.length === 0) return {};
  const disableParallel = parallelToolCalls === false;
  const choice = toolChoice ?? (disableParallel ? 'auto' : undefined); // the API has this setting inside the choice
  return {
    tools: [...encodeOwnTools(tools), ...definitions],
    tool_choice: choice && encodeToolChoice(choice, disableParallel),
  };
}

function rejectDuplicateName(tools: readonly ToolDefinition[], definitions: readonly JsonObject[]): void {
  const duplicate = tools.find(({ name }) => definitions.some((definition) => definition['name'] === name));
  if (!duplicate) return;
  throw optionsError(
    `Two tools are named "${duplicate.name}": one of the serverTools, which Anthropic runs, and one of your own tools.`,
    'Rename your tool, or omit one of the two.',
  );
}

/** The tools of one toolset become one definition, at the place of the first. */
function encodeOwnTools(tools: readonly ToolDefinition[]): readonly JsonObject[] {
  const encoded = new Map<unknown, JsonObject>();
  for (const tool of tools) {
    const toolset = readToolset(tool);
    const type = toolset?.['type'];
    if (!toolset) encoded.set(tool, encodeTool(tool));
    else if (!encoded.has(type)) {
      const members = tools.filter((other) => readToolset(other)?.['type'] === type);
      const names = members.map(({ name }) => name);
      encoded.set(type, toolsetDefinition(toolset, names));
    }
  }
  return [...encoded.values()];
}

function readToolset({ providerOptions }: ToolDefinition): JsonObject | undefined {
  const toolset = providerOptions?.['anthropic']?.['toolset'];
  return isJsonObject(toolset) ? toolset : undefined;
}

/** The API requires an object schema, but refuses schemas of tools that Anthropic defines (`bash_20250124`). */
const encodeTool = /* @__PURE__ */ memoizePerTool((tool) => {
  const { name, description, parameters, providerOptions } = tool;
  const type = providerOptions?.['anthropic']?.['type'] ?? 'custom';
  // A strict schema is compiled, and obeys the rules of outputs; any other one is text for the model.
  const isStrict = providerOptions?.['anthropic']?.['strict'] === true;
  const schema = isStrict ? outputSchema(parameters, `Tool "${name}"`) : parameters;
  const own = type === 'custom' ? { name, description, input_schema: { ...schema, type: 'object' } } : { name };
  return withProviderOptions(own, 'anthropic', tool);
});

function encodeToolChoice(choice: ToolChoice, disableParallel: boolean): JsonObject {
  if (choice === 'none') return { type: 'none' };
  const parallel = disableParallel ? { disable_parallel_tool_use: true } : {};
  if (typeof choice === 'object') return { type: 'tool', name: choice.name, ...parallel };
  return { type: choice === 'required' ? 'any' : 'auto', ...parallel };
}

const rejectedKeywords: ReadonlySet<string> = /* @__PURE__ */ words(`
  minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems contains
  minContains maxContains minProperties maxProperties patternProperties propertyNames dependentRequired
  dependentSchemas unevaluatedItems unevaluatedProperties not if then else
`);

const supportedFormats: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  date-time time date duration email hostname uri ipv4 ipv6 uuid
`);

/** platform.claude.com, "Structured outputs"; an `enum` beside a list of types is status 400 (vercel/ai#12876). */
const rules: SchemaRules = { api: 'anthropic', accepts: isAccepted, constants: true, closed: true };

/** Constraints that the API rejects with status 400 move to the description, so that the model still reads them. */
export const outputSchema = (schema: JsonSchema, subject = 'The output'): JsonSchema =>
  adaptSchema(schema, rules, subject);

function isAccepted(keyword: string, value: JsonValue): boolean {
  if (keyword === 'format') return supportedFormats.has(value);
  return keyword === 'minItems' ? value === 0 || value === 1 : !rejectedKeywords.has(keyword);
}
