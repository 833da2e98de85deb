import { isJsonObject, textOf } from '../../../core/json.js';
import type { JsonObject, JsonValue } from '../../../core/json.js';
import type { Dialect, DialectFrame, Refusal } from './dialect.js';

/**
 * The Responses API of one server: it keeps each response by its id, unless `store: false`, and takes that id as `previous_response_id`. A script
 * gets the whole conversation, and what the API objects to is looked for in all of it. An id that it does not know is refused in OpenAI's words.
 *
 * @param dialect The API without a memory.
 */
export function withStore(dialect: Dialect): Dialect {
  const kept = new Map<string, readonly JsonValue[]>();
  const whole = (body: JsonObject): JsonObject => {
    const { previous_response_id: previous, ...rest } = body;
    const before = kept.get(textOf(previous) ?? '');
    return before ? { ...rest, input: [...before, ...inputOf(body)] } : body;
  };
  const keep = (body: JsonObject, frames: readonly DialectFrame[]) => {
    const { data = '' } = frames.at(-1) ?? {};
    const last: unknown = data.startsWith('{') ? JSON.parse(data) : undefined; // `[DONE]` is none
    const response = isJsonObject(last) ? last['response'] : undefined;
    if (body['store'] === false || !isJsonObject(response)) return;
    const { id, output } = response;
    kept.set(textOf(id) ?? '', [...inputOf(whole(body)), ...(Array.isArray(output) ? (output as readonly JsonValue[]) : [])]);
  };
  return {
    ...dialect,
    refusal(body, headers) {
      if (!isJsonObject(body)) return dialect.refusal(body, headers);
      const previous = textOf(body['previous_response_id']);
      return previous === undefined || kept.has(previous) ? dialect.refusal(whole(body), headers) : unknown(previous);
    },
    messages: (body) => dialect.messages(whole(body)),
    history: (body) => dialect.history(whole(body)),
    writer(exchange) {
      const writer = dialect.writer(exchange);
      return {
        ...writer,
        end() {
          const frames = writer.end();
          keep(exchange.body, frames);
          return frames;
        },
      };
    },
  };
}

function inputOf({ input }: JsonObject): readonly JsonValue[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? (input as readonly JsonValue[]) : [];
}

const unknown = (id: string): Refusal => ({
  status: 400,
  type: 'invalid_request_error',
  code: 'previous_response_not_found',
  param: 'previous_response_id',
  message: `Previous response with id '${id}' not found.`,
});
