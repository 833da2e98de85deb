import { asArray, isJsonObject, nonEmptyString, type JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import { tool, toolDefinition, type Tool, type ToolContext } from '../../core/tool.js';
import type { ProgressOf, ResultOf, ToolOutput } from '../../core/toolOutput.js';
import type {
  ComputerAction,
  CustomToolOptions,
  LocalShellAction,
  PatchOperation,
  SafetyCheck,
  ShellAction,
  ShellOutput,
  ShellToolOptions,
  ToolSearchOptions,
} from './clientToolOptions.js';
import { provider } from './models.js';
import { encodeTool } from './tools.js';

type Execute<Arguments, Result> = (args: Arguments, context: ToolContext) => ToolOutput<Result, unknown>;

/**
 * Creates a free-form tool: the model writes text, not JSON, which a grammar may restrict. The arguments of a call
 * are `{ input }`. The Chat Completions API has such tools too.
 */
export function customTool<const Name extends string, Output>(
  definition: CustomToolOptions<Name, Output>,
): Tool<Name, { readonly input: string }, ResultOf<Output>, ProgressOf<Output, undefined>> {
  const { name, description, format, options, execute } = definition;
  const chatFormat = format && {
    type: 'grammar',
    grammar: { syntax: format.syntax, definition: format.definition },
  };
  return clientTool({
    name,
    description,
    parameters: objectSchema({ input: { type: 'string' } }),
    providerOptions: {
      [provider]: { type: 'custom', ...(format ? { format: { type: 'grammar', ...format } } : {}), ...options },
      'openai-chat': { type: 'custom', ...(chatFormat ? { custom: { format: chatFormat } } : {}) },
    },
    execute: ({ input }: { readonly input: string }, context) => execute(input, context),
  }) as never; // `ResultOf` and `ProgressOf` follow the definition of `ToolOutput`, but TypeScript cannot infer this
}

/** Lets the model run commands in your shell (`shell_call`). Check them: the model's input is not trusted. */
export const shellTool = (
  execute: Execute<ShellAction, ShellOutput | readonly ShellOutput[] | string>,
  { skills, options }: ShellToolOptions = {},
): Tool<'shell', ShellAction, ShellOutput | readonly ShellOutput[] | string> =>
  clientTool({
    name: 'shell',
    description: 'Runs commands in a shell and returns the output of each of them.',
    parameters: objectSchema({ commands: { type: 'array', items: { type: 'string' } } }),
    providerOptions: {
      [provider]: { type: 'shell', environment: { type: 'local', ...(skills ? { skills } : {}) }, ...options },
    },
    execute,
  });

/** Lets an older model run one command in your shell (`local_shell_call`). Use `shell` for current models. */
export const localShellTool = (
  execute: Execute<LocalShellAction, string>,
): Tool<'local_shell', LocalShellAction, string> =>
  clientTool({
    name: 'local_shell',
    description: 'Runs a command and returns its output.',
    parameters: objectSchema({ command: { type: 'array', items: { type: 'string' } } }),
    providerOptions: { [provider]: { type: 'local_shell' } },
    execute,
  });

/** Lets the model create, change and delete your files (`apply_patch_call`), each with a diff. */
export const applyPatchTool = (
  execute: Execute<PatchOperation, string | null>,
  options?: JsonObject,
): Tool<'apply_patch', PatchOperation, string | null> =>
  clientTool({
    name: 'apply_patch',
    description: 'Creates, changes or deletes a file with a diff.',
    parameters: objectSchema(
      { type: { enum: ['create_file', 'update_file', 'delete_file'] }, path: { type: 'string' } },
      { diff: { type: 'string' } },
    ),
    providerOptions: { [provider]: { type: 'apply_patch', ...options } },
    execute,
  });

/** Controls a computer. A screenshot has to contain all safety checks, which a person acknowledges. */
export const computerTool = (
  execute: Execute<
    { readonly actions: readonly ComputerAction[]; readonly safetyChecks: readonly SafetyCheck[] },
    FilePart | { readonly screenshot: FilePart; readonly acknowledged: readonly SafetyCheck[] }
  >,
  options?: JsonObject,
): Tool<'computer'> =>
  clientTool({
    name: 'computer',
    description: 'Executes actions of the mouse and the keyboard, and returns a screenshot.',
    parameters: objectSchema({}, { actions: { type: 'array', items: { type: 'object' } } }),
    providerOptions: { [provider]: { type: 'computer', ...options } },
    execute: ({ action, actions, pending_safety_checks: checks }: JsonObject, context) =>
      execute(
        {
          actions: [action, ...asArray(actions)].filter(isAction),
          safetyChecks: asArray(checks).filter(isSafetyCheck),
        },
        context,
      ),
  });

const isAction = (value: unknown): value is ComputerAction =>
  isJsonObject(value) && nonEmptyString(value['type']) !== undefined;
const isSafetyCheck = (value: unknown): value is SafetyCheck =>
  isJsonObject(value) && nonEmptyString(value['id']) !== undefined;

/** Searches for tools (`tool_search_call`), which must be the agent's; `defer_loading: true` hides schemas. */
export const toolSearchTool = ({
  description,
  parameters,
  execute,
}: ToolSearchOptions): Tool<'tool_search', JsonObject, readonly JsonObject[]> =>
  clientTool({
    name: 'tool_search',
    description,
    parameters: parameters ?? objectSchema({ query: { type: 'string' } }),
    providerOptions: { [provider]: { type: 'tool_search' } },
    execute: (args: JsonObject, context) =>
      Promise.resolve(execute(args, context)).then((found) => found.map((one) => encodeTool(toolDefinition(one)))),
  });

/** The API validates the arguments, so the tool does not. */
function clientTool<const Name extends string, Arguments, Result>(definition: {
  readonly name: Name;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly providerOptions: Readonly<Record<string, JsonObject>>;
  readonly execute: Execute<Arguments, Result>;
}): Tool<Name, Arguments, Result> {
  const { execute, ...fields } = definition;
  return tool({ ...fields, execute: (args, context) => execute(args as Arguments, context) }) as unknown as Tool<
    Name,
    Arguments,
    Result
  >;
}

const objectSchema = (required: JsonObject, optional: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
});
