import { RivuletError } from '../../core/errors.js';
import { isRecord, omit, omitNull, type JsonObject } from '../../core/json/json.js';
import { systemMessage, userMessage, type Message } from '../../core/message.js';
import { tool, type Tool } from '../../core/tool.js';
import { fromAgUiMessages } from '../../transport/agUi/messages.js';
import type { AgUiTool, RunAgentInput } from '../../transport/agUi/protocol.js';
import { isListOf, isText } from '../../transport/eventForm.js';

/** The mistake of a client of AG-UI, which is told what it is. */
export class AgUiRequestError extends RivuletError {
  override readonly isPublic = true;
  override readonly name = 'AgUiRequestError';
  readonly code = 'ag_ui_request';

  constructor(problem: string) {
    super(`The AG-UI request is not valid: ${problem}`);
  }
}

/**
 * Checks the request of a client.
 *
 * @param body The body, parsed.
 * @returns The body. Its `tools` and `context` are empty if the client has sent none.
 * @throws AgUiRequestError if it is not a request of AG-UI.
 */
export function readAgUiRequest(body: unknown): RunAgentInput {
  if (!isRecord(body)) throw new AgUiRequestError('it is not a JSON object.');
  const input = { tools: [], context: [], ...omitNull(body) };
  for (const [path, isValid] of Object.entries(requestChecks)) {
    if (!isValid((input as Record<string, unknown>)[path])) throw new AgUiRequestError(`see \`${path}\`.`);
  }
  return input as unknown as RunAgentInput;
}

type Check = (value: unknown) => boolean;

// Functions without calls at the top level: a bundler could not remove those.
const isName: Check = (value) => typeof value === 'string' && value !== '';
const isAbsentOr = (value: unknown, isValid: Check) => value === undefined || isValid(value);

function hasFields(value: unknown, fields: Readonly<Record<string, Check>>): boolean {
  return isRecord(value) && Object.entries(fields).every(([field, isValid]) => isValid(value[field]));
}

const fileTypes: ReadonlySet<unknown> = new Set(['image', 'audio', 'video', 'document']);
const isPart: Check = (part) => {
  if (!isRecord(part)) return false;
  if (part['type'] === 'text') return isText(part['text']);
  const mimeType: Check = (value) => isAbsentOr(value, isText);
  return fileTypes.has(part['type']) && hasFields(part['source'], { type: isText, value: isText, mimeType });
};
const isContent: Check = (value) => isText(value) || isListOf(value, isPart);
const isOptionalText: Check = (value) => isAbsentOr(value, isText);
const isFunction: Check = (value) => hasFields(value, { name: isName, arguments: isText });
const isCall: Check = (value) => hasFields(value, { id: isName, function: isFunction });

const messageFields: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  developer: { content: isText },
  system: { content: isText },
  user: { content: isContent },
  assistant: { content: isOptionalText, toolCalls: (value) => isAbsentOr(value, (calls) => isListOf(calls, isCall)) },
  tool: { toolCallId: isName, content: isContent, error: isOptionalText },
};

/** Other roles (`reasoning`, `activity`, a later one) are not part of the history and are not checked. */
const isMessage: Check = (message) =>
  isRecord(message) &&
  hasFields(message, { id: isText, role: isText }) &&
  hasFields(message, messageFields[message['role'] as string] ?? {});
const isSchema: Check = (value) => isAbsentOr(value, isRecord);
const isToolName: Check = (name) => isText(name) && /^[\w.:-]{1,128}$/.test(name as string);
const isTool: Check = (value) => hasFields(value, { name: isToolName, description: isText, parameters: isSchema });
const isStatus: Check = (value) => value === 'resolved' || value === 'cancelled';
const isAnswer: Check = (value) => hasFields(value, { interruptId: isName, status: isStatus });

const requestChecks: Readonly<Record<string, Check>> = {
  threadId: isName,
  runId: isName,
  messages: (value) => isListOf(value, isMessage),
  tools: (value) => isListOf(value, isTool),
  context: (value) => isListOf(value, (fact) => hasFields(fact, { description: isText, value: isText })),
  resume: (value) => isAbsentOr(value, (answers) => isListOf(answers, isAnswer)),
};

/**
 * The tools that the client executes, for the agent of this request: tools without `execute`.
 *
 * ```ts
 * createAgent({ model, tools: [...ownTools, ...clientTools(request)] });
 * ```
 *
 * @param request The request, or its `tools`.
 */
export function clientTools({ tools }: Pick<RunAgentInput, 'tools'>): readonly Tool[] {
  return tools.map(({ name, description, parameters }: AgUiTool) =>
    tool({ name, description, ...(isEmpty(parameters) ? {} : { parameters: plainSchema(parameters) }) }),
  );
}

const isEmpty = (schema: JsonObject | undefined): schema is undefined =>
  schema === undefined || Object.keys(schema).length === 0;

/** By these fields, Rivulet would take the client's JSON for a schema library or a validation function. */
const plainSchema = (schema: JsonObject): JsonObject => ({ ...omit(schema, '~standard', 'validate'), type: 'object' });

export interface HistoryOptions {
  /**
   * The role of the client's instructions: messages with the role `system` or `developer`, and `context`. `user`: the
   * model reads them as the user's words, so a browser cannot change your instructions. `system`: they have the rank of
   * your own instructions, for clients that you trust, for example a service of your own. Default: `user`.
   */
  readonly instructions?: 'user' | 'system' | undefined;
}

/**
 * Converts the conversation of a request to a history: its `context`, then its messages.
 *
 * @param request The request. Untrusted: its history may contain answers that no model wrote.
 * @param options `instructions` (default: `user`).
 */
export function historyOf(
  { messages, context }: Pick<RunAgentInput, 'messages' | 'context'>,
  { instructions = 'user' }: HistoryOptions = {},
): readonly Message[] {
  const facts = context.map(({ description, value }) => `${description}: ${value}`).join('\n');
  const history = [...(facts === '' ? [] : [systemMessage(facts)]), ...fromAgUiMessages(messages)];
  if (instructions === 'system') return history;
  return history.map((message) => (message.role === 'system' ? userMessage(message.parts) : message));
}
