import type { Chunk, ToolCallFragment } from '../../../../core/chunk.js';
import { hash } from '../../../../core/hash.js';
import { isJsonObject, nonEmptyString, omitUndefined, type JsonObject } from '../../../../core/json/json.js';
import { refusal, type Dialect, type DialectFrame, type Refusal } from '../dialect.js';
import { objectsIn } from '../history.js';
import { historyObjection } from '../historyRules.js';
import { chatCompletions, refusalOf } from './chatCompletions.js';
import { mistralIdRules, mistralOrderRules } from './historyRules.js';

interface Variant {
  readonly bases: Dialect['bases'];
  readonly serves: (path: string) => boolean;
  readonly refusal?: (body: JsonObject) => Refusal | undefined;
  readonly chunk?: (chunk: Chunk) => Chunk;
  readonly frame?: (frame: JsonObject) => JsonObject;
  /** Default: in a separate frame if the request asks for it, as OpenAI does. */
  readonly usageWithFinish?: boolean;
}

function variant({ bases, serves, refusal: refuse, chunk, frame: rewrite, usageWithFinish = false }: Variant): Dialect {
  const rewritten = ({ data }: DialectFrame): DialectFrame => {
    const parsed: unknown = data === '[DONE]' ? undefined : JSON.parse(data);
    return { data: isJsonObject(parsed) ? JSON.stringify(rewrite?.(parsed) ?? parsed) : data };
  };
  return {
    ...chatCompletions,
    bases,
    serves,
    refusal: (body) => refusalOf(body) ?? (isJsonObject(body) ? refuse?.(body) : undefined),
    writer({ turn, path, body }) {
      const requested = usageWithFinish ? { ...body, stream_options: { include_usage: true } } : body;
      const writer = chatCompletions.writer({ turn, path, body: requested });
      let finish: readonly DialectFrame[] = [];
      return {
        next(scripted) {
          const frames = writer.next(chunk?.(scripted) ?? scripted);
          if (scripted.type !== 'finish' || !usageWithFinish) return frames.map(rewritten);
          finish = frames;
          return [];
        },
        error: (error) => [...finish, ...writer.error(error)].map(rewritten),
        end: () => (usageWithFinish ? mergeUsage([...finish, ...writer.end()]) : writer.end()).map(rewritten),
      };
    },
  };
}

function mergeUsage(frames: readonly DialectFrame[]): readonly DialectFrame[] {
  return frames.flatMap((frame, at) => {
    const [parsed, next] = [parse(frame), parse(frames[at + 1])];
    if (isUsage(parsed) && at > 0) return [];
    if (!parsed || !isUsage(next)) return [frame];
    return [{ data: JSON.stringify({ ...parsed, usage: next?.['usage'] }) }];
  });
}

const isUsage = (frame: JsonObject | undefined): boolean =>
  Array.isArray(frame?.['choices']) && frame['choices'].length === 0;

function parse(frame: DialectFrame | undefined): JsonObject | undefined {
  const parsed: unknown = frame === undefined || frame.data === '[DONE]' ? undefined : JSON.parse(frame.data);
  return isJsonObject(parsed) ? parsed : undefined;
}

function withChoice(frame: JsonObject, rewrite: (choice: JsonObject, delta: JsonObject) => JsonObject): JsonObject {
  const choices = objectsIn(frame['choices']);
  return {
    ...frame,
    choices: choices.map((choice) => rewrite(choice, isJsonObject(choice['delta']) ? choice['delta'] : {})),
  };
}

/**
 * Thinking also in `reasoning_details`, the cost in the usage, and errors as it documents them ("Errors and
 * debugging"). For its comments, use the server's option `comments`.
 */
export const openrouter = variant({
  bases: { openrouter: '/api/v1' },
  serves: (path) => path.endsWith('/api/v1/chat/completions'),
  usageWithFinish: true,
  frame: (frame) => {
    const { usage, error, ...rest }: JsonObject = { provider: 'Loopback', ...frame };
    if (isJsonObject(error)) return errorFrame(error);
    const priced = isJsonObject(usage) ? { ...rest, usage: { ...usage, cost: 0.00012 } } : rest;
    return withChoice(priced, (choice, delta) => ({
      ...choice,
      native_finish_reason: choice['finish_reason'] ?? null,
      delta: reasoning(delta),
    }));
  },
});

function reasoning({ reasoning_content: text, ...rest }: JsonObject): JsonObject {
  if (text === undefined) return rest;
  return {
    ...rest,
    content: '',
    reasoning: text,
    reasoning_details: [{ type: 'reasoning.text', text, format: 'loopback-v1', index: 0 }],
  };
}

function errorFrame({ message, code }: JsonObject): JsonObject {
  const known = nonEmptyString(code) ?? '502';
  return {
    error: { code: /^\d+$/.test(known) ? Number(known) : known, message: message ?? '' },
    choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null }],
  };
}

/** It refuses, as bug reports quote, unknown fields, ids other than nine letters and digits, and role orders. */
export const mistral = variant({
  bases: { mistral: '/mistral/v1' },
  serves: (path) => path.endsWith('/mistral/v1/chat/completions'),
  refusal: refusalOfMistral,
  usageWithFinish: true,
  chunk: (chunk) => (chunk.type === 'toolCallFragment' ? mistralFragment(chunk) : chunk),
  frame: (frame) => {
    const { usage, ...rest } = frame;
    const reported = isJsonObject(usage) ? { ...rest, usage } : rest;
    return Array.isArray(frame['choices'])
      ? withChoice(reported, (choice, delta) => ({ ...choice, delta: thinking(delta) }))
      : reported;
  },
});

/** A call is in one piece, with an id that Mistral accepts back. */
const mistralFragment = ({ id, arguments: args, ...rest }: ToolCallFragment): ToolCallFragment => ({
  ...rest,
  ...omitUndefined({ id: id === undefined ? undefined : /^[a-zA-Z0-9]{9}$/.test(id) ? id : hash(id).slice(0, 9) }),
  ...(args === undefined ? {} : { arguments: isJsonObject(args) ? JSON.stringify(args) : args }),
});

function thinking({ reasoning_content: text, ...rest }: JsonObject): JsonObject {
  return text === undefined ? rest : { ...rest, content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
}

function refusalOfMistral(body: JsonObject): Refusal | undefined {
  const unknown = ['stream_options', 'seed', 'max_completion_tokens'].find((field) => body[field] !== undefined);
  if (unknown)
    return { ...refusal('invalid_request_error', `Extra inputs are not permitted: body.${unknown}`), status: 422 };
  const messages = objectsIn(body['messages']);
  const badId = historyObjection(mistralIdRules, messages);
  if (badId !== undefined) return refuseMessages(badId, '3280');
  const badOrder = historyObjection(mistralOrderRules, messages);
  return badOrder === undefined ? undefined : refuseMessages(badOrder, '3230');
}

const refuseMessages = (message: string, code: string) => refusal('invalid_request_message_order', message, code);
