import { RivuletError } from '../../core/errors.js';
import { isRecord, omit } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { systemMessage, userMessage } from '../../core/message.js';
import type { Message } from '../../core/message.js';
import { tool } from '../../core/tool.js';
import type { Tool } from '../../core/tool.js';
import { fromAgUiMessages } from './messages.js';
import type { AgUiTool, RunAgentInput } from './protocol.js';

/** The request of an AG-UI client is not valid, or does not fit what its thread waits for. */
export class AgUiRequestError extends RivuletError {
  override readonly name = 'AgUiRequestError';
  readonly code = 'ag_ui_request';

  /** @param problem What is wrong, for whoever has written the client. */
  constructor(problem: string) {
    super(`The AG-UI request is not valid: ${problem}`);
  }
}

/**
 * Checks what a client has sent.
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

const isText: Check = (value) => typeof value === 'string';
const isName: Check = (value) => typeof value === 'string' && value !== '';
const isListOf =
  (isItem: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(isItem);
const isObject =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) && Object.entries(fields).every(([field, isValid]) => isValid(value[field]));
const isOptional =
  (isValid: Check): Check =>
  (value) =>
    value === undefined || isValid(value);

const isPart: Check = (part) => isObject({ type: isText })(part) && (isTextPart(part) || isFilePart(part));
const isTextPart = isObject({ type: (type) => type === 'text', text: isText });
const isFilePart = isObject({
  type: (type) => ['image', 'audio', 'video', 'document'].includes(type as string),
  source: isObject({ type: isText, value: isText, mimeType: isOptional(isText) }),
});
const isContent: Check = (value) => isText(value) || isListOf(isPart)(value);
const isCall = isObject({ id: isName, function: isObject({ name: isName, arguments: isText }) });

const messageChecks: Readonly<Record<string, Check>> = {
  developer: isObject({ content: isText }),
  system: isObject({ content: isText }),
  user: isObject({ content: isContent }),
  assistant: isObject({ content: isOptional(isText), toolCalls: isOptional(isListOf(isCall)) }),
  tool: isObject({ toolCallId: isName, content: isContent, error: isOptional(isText) }),
};

/** A message of another role (`reasoning`, `activity`, a later one) is not part of the history, and not checked. */
const isMessage: Check = (message) =>
  isObject({ id: isText, role: isText })(message) &&
  (messageChecks[(message as { role: string }).role]?.(message) ?? true);

const requestChecks: Readonly<Record<string, Check>> = {
  threadId: isName,
  runId: isName,
  messages: isListOf(isMessage),
  tools: isListOf(isObject({ name: isName, description: isText, parameters: isOptional(isRecord) })),
  context: isListOf(isObject({ description: isText, value: isText })),
  resume: isOptional(
    isListOf(isObject({ interruptId: isName, status: (status) => status === 'resolved' || status === 'cancelled' })),
  ),
};

/** Some clients send null for a field that is absent. */
const omitNull = (body: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

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

/** Without the fields that would make a schema library, or a function, of what the client sends. */
const plainSchema = (schema: JsonObject): JsonObject => ({ type: 'object', ...omit(schema, '~standard', 'validate') });

/** Options of `historyOf`. */
export interface HistoryOptions {
  /**
   * Whether what the client sends as instructions (messages with the role `system` or `developer`, and `context`) has
   * the rank of your own instructions. `user`: the model reads it as the user's words, so a browser cannot change the
   * instructions. `system`: for clients that you trust, for example a service of your own. Default: `user`.
   */
  readonly instructions?: 'user' | 'system' | undefined;
}

/**
 * The conversation of a request, as a history: its `context`, then its messages.
 *
 * @param request The request. The client writes the history that it sends: it may contain answers that no model gave.
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
