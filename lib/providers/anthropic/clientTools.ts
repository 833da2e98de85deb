import { nonEmptyString, type JsonObject } from '../../core/json/json.js';
import type { ToolCallPart } from '../../core/message.js';
import type { PlainSchema } from '../../core/schema.js';
import { tool, type Tool, type ToolContext } from '../../core/tool.js';
import type { ProgressOf, ResultOf } from '../../core/toolOutput.js';

// Tools that Anthropic defines and the application runs (SDK 1.12, `ClientToolUnion`). The API knows their descriptions
// and schemas; those here are for the models of other providers.

/** The options of a tool that Anthropic defines and the application runs. */
export interface ClientToolOptions<Arguments, Output, Name extends string = string> {
  /** Runs a call, as for any tool (see `tool`). */
  readonly execute: (args: Arguments, context: ToolContext<unknown, ToolCallPart<Name, Arguments>>) => Output;
  /**
   * Further fields of the definition: `{ cache_control: { type: 'ephemeral' } }`, `{ max_characters: 10000 }`. They
   * override the tool's own. Default: none.
   */
  readonly definition?: JsonObject;
}

/** The arguments of the bash tool: a command, or a restart of the shell. */
export interface BashInput {
  readonly command?: string;
  readonly restart?: boolean;
}

/** The arguments of the text editor. */
export type TextEditorInput =
  | { readonly command: 'view'; readonly path: string; readonly view_range?: readonly number[] }
  | { readonly command: 'create'; readonly path: string; readonly file_text: string }
  | { readonly command: 'str_replace'; readonly path: string; readonly old_str: string; readonly new_str?: string }
  | {
      readonly command: 'insert';
      readonly path: string;
      readonly insert_line: number;
      readonly insert_text: string;
    };

/** The arguments of the memory tool (SDK 1.12, `BetaMemoryTool20250818Command`). */
export type MemoryInput =
  | TextEditorInput
  | { readonly command: 'delete'; readonly path: string }
  | { readonly command: 'rename'; readonly old_path: string; readonly new_path: string };

/**
 * Creates the bash tool (`bash_20250124`): the model writes commands, and `execute` runs them in a shell that lasts for
 * the conversation.
 */
export const bash = <Output>(options: ClientToolOptions<BashInput, Output, 'bash'>) =>
  clientTool('bash', 'Runs a command in a shell that keeps its state.', bashSchema, 'bash_20250124', options);

/** Creates the text editor (`text_editor_20250728`): `execute` views and changes files. */
export const textEditor = <Output>(
  options: ClientToolOptions<TextEditorInput, Output, 'str_replace_based_edit_tool'>,
) =>
  clientTool(
    'str_replace_based_edit_tool',
    'Views, creates and edits text files.',
    commandSchema(editorCommands),
    'text_editor_20250728',
    options,
  );

/**
 * Creates the memory tool (`memory_20250818`): the model keeps notes in files below `/memories`, which `execute`
 * stores. Paths come from the model: refuse those that leave the folder.
 */
export const memory = <Output>(options: ClientToolOptions<MemoryInput, Output, 'memory'>) =>
  clientTool(
    'memory',
    'Stores and reads notes in files below /memories.',
    commandSchema({
      ...editorCommands,
      delete: { path: 'string' },
      rename: { old_path: 'string', new_path: 'string' },
    }),
    'memory_20250818',
    options,
  );

function clientTool<Name extends string, Arguments, Output>(
  name: Name,
  description: string,
  parameters: PlainSchema,
  type: string,
  { execute, definition = {} }: ClientToolOptions<Arguments, Output, Name>,
) {
  const providerOptions = { anthropic: { type, ...definition } };
  const created = tool({ name, description, parameters, providerOptions, execute: execute as never });
  return created as unknown as Tool<Name, Arguments, ResultOf<Output>, ProgressOf<Output, undefined>, Arguments>;
}

const bashSchema = {
  type: 'object',
  properties: { command: { type: 'string' }, restart: { type: 'boolean' } },
} as const;

type Commands = Readonly<Record<string, Readonly<Record<string, 'string' | 'integer'>>>>;

const editorCommands = {
  view: { path: 'string' },
  create: { path: 'string', file_text: 'string' },
  str_replace: { path: 'string', old_str: 'string' },
  insert: { path: 'string', insert_line: 'integer', insert_text: 'string' },
} as const;

function commandSchema(commands: Commands): PlainSchema {
  const fields = Object.fromEntries(Object.values(commands).flatMap((required) => Object.entries(required)));
  return {
    type: 'object',
    properties: {
      command: { type: 'string', enum: Object.keys(commands) },
      ...Object.fromEntries(Object.entries(fields).map(([field, type]) => [field, { type }])),
      new_str: { type: 'string' },
      view_range: { type: 'array', items: { type: 'integer' } },
    },
    required: ['command'],
    validate: (value) => checkCommand(value, commands),
  };
}

function checkCommand(value: JsonObject, commands: Commands): JsonObject {
  const command = nonEmptyString(value['command']) ?? '';
  const required = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (!required) throw new Error(`command: expected one of ${Object.keys(commands).join(', ')}`);
  for (const [field, type] of Object.entries(required)) {
    const expected = type === 'integer' ? 'number' : type;
    if (typeof value[field] !== expected) throw new Error(`${field}: expected ${type} for the command ${command}`);
  }
  return value;
}
