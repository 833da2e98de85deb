import type { JsonObject } from '../../core/json/json.js';
import type { Tool, ToolContext } from '../../core/tool.js';

/** The definition of a free-form tool. */
export interface CustomToolOptions<Name extends string = string, Output = unknown> {
  readonly name: Name;
  readonly description: string;
  /** The grammar of the input. Default: any text. */
  readonly format?: { readonly syntax: 'lark' | 'regex'; readonly definition: string } | undefined;
  /** Further fields of the definition, in the API's format: `{ async: true, defer_loading: true }`. Default: none. */
  readonly options?: JsonObject | undefined;
  readonly execute: (input: string, context: ToolContext) => Output;
}

/** Commands that the model wants to run. */
export type ShellAction = JsonObject & {
  readonly commands: readonly string[];
  /** The time limit of the commands in milliseconds; null or absent if there is none. */
  readonly timeout_ms?: number | null;
  /** The maximum number of characters of an output that the model reads; null or absent if there is none. */
  readonly max_output_length?: number | null;
};

/** The output of a command. */
export type ShellOutput = JsonObject & {
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code; null if the command exceeded its time limit. */
  readonly exitCode: number | null;
};

/** The options of the shell. */
export interface ShellToolOptions {
  /** Folders with instructions that the model may read. Default: none. */
  readonly skills?:
    | readonly { readonly name: string; readonly description: string; readonly path: string }[]
    | undefined;
  /** Further fields of the definition, in the API's format: `{ allowed_callers: ['direct'] }`. Default: none. */
  readonly options?: JsonObject | undefined;
}

/** A command for the older shell. */
export type LocalShellAction = JsonObject & {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly timeout_ms?: number | null;
  readonly user?: string | null;
  readonly working_directory?: string | null;
};

/** An operation on a file. The path is relative to the workspace. */
export type PatchOperation = JsonObject &
  (
    | { readonly type: 'create_file' | 'update_file'; readonly path: string; readonly diff: string }
    | { readonly type: 'delete_file'; readonly path: string }
  );

/** An action on a computer, in the API's format: `{ type: 'click', x, y, button }`, `{ type: 'type', text }`. */
export type ComputerAction = JsonObject & { readonly type: string };

/** A check that a person has to acknowledge before the model continues. */
export type SafetyCheck = JsonObject & {
  readonly id: string;
  readonly code?: string | null;
  readonly message?: string | null;
};

/** The definition of a search for tools. */
export interface ToolSearchOptions {
  /** Tells the model what can be found. */
  readonly description: string;
  /** The JSON Schema of the arguments. Default: `{ query }`. */
  readonly parameters?: JsonObject | undefined;
  readonly execute: (args: JsonObject, context: ToolContext) => readonly Tool[] | PromiseLike<readonly Tool[]>;
}
