import type { JsonObject, JsonSchema } from '../../core/json/json.js';
import { tool, type ToolContext, type Tool } from '../../core/tool.js';

type Point = readonly [number, number];

/** A click at a point, or at the cursor; `text` is a key to hold down. */
interface Click {
  readonly coordinate?: Point | null;
  readonly text?: string | null;
}

/** The arguments of each member of the computer toolset (SDK 1.12, `ComputerMemberInput`). */
interface AnthropicComputerInputs {
  readonly key: { readonly text: string; readonly repeat?: number | null };
  readonly hold_key: { readonly text: string; readonly duration: number };
  readonly type: { readonly text: string };
  readonly cursor_position: object;
  readonly mouse_move: { readonly coordinate: Point };
  readonly left_mouse_down: object;
  readonly left_mouse_up: object;
  readonly left_click: Click;
  readonly left_click_drag: {
    readonly start_coordinate: Point;
    readonly coordinate: Point;
    readonly text?: string | null;
  };
  readonly right_click: Click;
  readonly middle_click: Click;
  readonly double_click: Click;
  readonly triple_click: Click;
  readonly scroll: Click & {
    readonly scroll_direction: 'up' | 'down' | 'left' | 'right';
    readonly scroll_amount: number;
  };
  readonly wait: { readonly duration: number };
  readonly screenshot: object;
  readonly zoom: { readonly region: readonly [number, number, number, number] };
}

type AnthropicComputerMember = keyof AnthropicComputerInputs;

/** An action of the model on the computer: the member of the toolset, and its arguments. */
export type ComputerAction = {
  [Member in AnthropicComputerMember]: { readonly action: Member } & AnthropicComputerInputs[Member];
}[AnthropicComputerMember];

/** The options of the computer toolset. */
export interface ComputerOptions {
  /**
   * Performs an action. Return a screenshot as `filePart(png, 'image/png')`, alone or in an array with texts.
   */
  readonly execute: (action: ComputerAction, context: ToolContext) => unknown;
  /** Further fields of the definition (`cache_control`). Default: none. */
  readonly definition?: JsonObject;
}

const toolsetType = 'computer_toolset_20260801';

/**
 * Creates the tools of the computer toolset (`computer_toolset_20260801`), one for each action. Leave some out, and the
 * model is not offered them:
 *
 * ```ts
 * const computer = anthropicTools.computer({ execute: (action) => perform(action) });
 * createAgent({ model, tools: computer.filter(({ name }) => name !== 'zoom') });
 * ```
 */
export function computer({ execute, definition = {} }: ComputerOptions): readonly Tool[] {
  return Object.entries(memberFields).map(([name, fields]) =>
    tool({
      name,
      description: `Controls the computer: ${name.replaceAll('_', ' ')}.`,
      parameters: memberSchema(fields),
      providerOptions: { anthropic: { toolset: { type: toolsetType, ...definition } } },
      execute: (args: JsonObject, context) => execute({ ...args, action: name } as unknown as ComputerAction, context),
    }),
  );
}

export function toolsetDefinition(definition: JsonObject, names: readonly string[]): JsonObject {
  const disabled = Object.keys(memberFields).filter((name) => !names.includes(name));
  if (definition['type'] !== toolsetType || disabled.length === 0) return definition;
  return { ...definition, configs: Object.fromEntries(disabled.map((name) => [name, { enabled: false }])) };
}

/** The fields of each member; those with a question mark are optional. */
const memberFields: Readonly<Record<AnthropicComputerMember, readonly string[]>> = {
  key: ['text', 'repeat?'],
  hold_key: ['text', 'duration'],
  type: ['text'],
  cursor_position: [],
  mouse_move: ['coordinate'],
  left_mouse_down: [],
  left_mouse_up: [],
  left_click: ['coordinate?', 'text?'],
  left_click_drag: ['start_coordinate', 'coordinate', 'text?'],
  right_click: ['coordinate?', 'text?'],
  middle_click: ['coordinate?', 'text?'],
  double_click: ['coordinate?', 'text?'],
  triple_click: ['coordinate?', 'text?'],
  scroll: ['scroll_direction', 'scroll_amount', 'coordinate?', 'text?'],
  wait: ['duration'],
  screenshot: [],
  zoom: ['region'],
};

const fieldSchemas: Readonly<Record<string, JsonSchema>> = {
  text: { type: 'string' },
  repeat: { type: 'integer' },
  duration: { type: 'number' },
  coordinate: { type: 'array', items: { type: 'number' } },
  start_coordinate: { type: 'array', items: { type: 'number' } },
  region: { type: 'array', items: { type: 'number' } },
  scroll_direction: { type: 'string', enum: ['up', 'down', 'left', 'right'] },
  scroll_amount: { type: 'integer' },
};

function memberSchema(fields: readonly string[]): JsonSchema {
  const names = fields.map((field) => field.replace('?', ''));
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, fieldSchemas[name] ?? {}])),
    required: fields.filter((field) => !field.endsWith('?')),
  };
}
