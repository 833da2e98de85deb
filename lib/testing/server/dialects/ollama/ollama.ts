import type { FinishChunk } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { isRecord, nonEmptyString, omitUndefined, type JsonObject } from '../../../../core/json/json.js';
import { chatHistory } from '../chatCompletions/history.js';
import { refusal, unsupportedChunk } from '../dialect.js';
import type { Dialect, DialectFrame, DialectWriter, Refusal } from '../dialect.js';
import { objectsIn } from '../history.js';
import { createWriter } from '../writer.js';
import { historyObjection, type HistoryRules } from '../historyRules.js';

/**
 * `docs/openapi.yaml`, `ChatStreamEvent`: one delta per line, complete calls without ids, a last line with `done`.
 * Times are constant: the same script results in the same bytes.
 */
export const ollama: Dialect = {
  framing: 'ndjson',
  contentType: 'application/x-ndjson',
  bases: { ollama: '' },
  serves: (path) => path.endsWith('/api/chat'),
  refusal: refusalOf,
  messages: (body) => objectsIn(body['messages']),
  history: chatHistory,
  writer: ({ body }) => writer(body),
  errorBody: ({ message }) => ({ error: message }),
};

/** `api/types.go` of Ollama's repository. */
const historyRules: HistoryRules = {
  '`Message.Role`: ollama/ollama, `server/routes.go`': (messages, at) =>
    ['system', 'user', 'assistant', 'tool'].includes(nonEmptyString(messages[at]?.['role']) ?? '')
      ? undefined
      : 'invalid role',
  '`Message.Content`: a string': (messages, at) =>
    typeof messages[at]?.['content'] === 'string'
      ? undefined
      : 'json: cannot unmarshal content into Go value of type string',
  '`Message.Images`: an array of base64 texts': (messages, at) => {
    const { images = [] } = messages[at] ?? {};
    const isBase64 = (image: unknown) => typeof image === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(image);
    return Array.isArray(images) && images.every(isBase64) ? undefined : 'illegal base64 data at input byte 4';
  },
};

const thinkValues: readonly unknown[] = [undefined, null, true, false, 'low', 'medium', 'high', 'max'];

function refusalOf(body: unknown): Refusal | undefined {
  const refuse = (message: string) => refusal('bad_request', message);
  if (!isRecord(body)) return refuse('missing request body');
  if (nonEmptyString(body['model']) === undefined) return refuse('model is required');
  const { messages } = body as { readonly messages?: unknown };
  if (!Array.isArray(messages) || !messages.every(isRecord))
    return refuse('json: cannot unmarshal messages into Go struct field ChatRequest.messages');
  const objection = historyObjection(historyRules, objectsIn(messages));
  if (objection !== undefined) return refuse(objection);
  if (!thinkValues.includes(body['think'])) {
    const expected = '(must be "high", "medium", "low", "max", true, or false)';
    return refuse(`invalid think value: ${JSON.stringify(body['think'])} ${expected}`);
  }
  return body['stream'] === false ? refuse("This loopback server only streams: send 'stream': true.") : undefined;
}

function writer(body: JsonObject): DialectWriter {
  const line = (message: JsonObject, rest: JsonObject): DialectFrame => ({
    data: JSON.stringify({
      model: body['model'] ?? '',
      created_at: '2026-01-01T00:00:00Z',
      message: { role: 'assistant', content: '', ...message },
      ...rest,
    }),
  });
  const message = (fields: JsonObject) => [line(fields, { done: false })];

  return createWriter(api, {
    call: ({ name, arguments: args }) => message({ tool_calls: [{ function: { name, arguments: args } }] }),
    chunks: {
      text: ({ text }) => message({ content: text }),
      thinking: ({ text }) => message({ thinking: text }),
      file(chunk) {
        if (chunk.file.data === undefined) throw unsupportedChunk(api, chunk);
        return message({ images: [chunk.file.data] });
      },
      finish: (chunk) => [line({}, lastLine(chunk))],
    },
    error: (error) => [{ data: JSON.stringify({ error: errorText(error) }) }],
  });
}

const api = 'chat API of Ollama';

const lastLine = (finish: FinishChunk): JsonObject =>
  omitUndefined({
    done_reason: doneReason(finish),
    done: true,
    total_duration: 4_000_000,
    load_duration: 1_000_000,
    prompt_eval_count: finish.usage?.input,
    prompt_eval_duration: 1_000_000,
    eval_count: finish.usage?.output,
    eval_duration: 2_000_000,
  });

function doneReason({ reason, rawReason }: FinishChunk): string | undefined {
  if (rawReason !== undefined || reason === 'unspecified') return rawReason;
  return reason === 'length' ? 'length' : 'stop';
}
