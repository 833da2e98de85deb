import type { Chunk, FinishChunk, MetadataChunk } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { isJsonObject, isRecord, nonEmptyString, omitUndefined } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import type { Usage } from '../../../../core/usage.js';
import { createCallCollector, splitJson } from '../completeCalls.js';
import type { CompleteCall } from '../completeCalls.js';
import { totalOf, unsupportedChunk } from '../dialect.js';
import type { Dialect, DialectFrame, DialectWriter } from '../dialect.js';
import { objectsIn } from '../history.js';
import { interactionsHistory } from './history.js';
import { refusedByInteractions } from './request.js';

/**
 * Google's Interactions API, as its guide "Streaming interactions" and the types of the SDK 3.1 document it: steps
 * with deltas, thoughts with a signature at their end, calls whose arguments are fragments of JSON,
 * `interaction.completed` with status and usage, then `[DONE]`.
 *
 * Ids and signatures are constant: the same script results in the same bytes.
 */
export const googleInteractions: Dialect = {
  framing: 'sse',
  contentType: 'text/event-stream',
  bases: { 'google-interactions': '/v1beta' },
  serves: (path) => path.endsWith('/interactions'),
  keyIn: (headers) => headers['x-goog-api-key'],
  refusal: refusedByInteractions,
  messages: (body) => objectsIn(body['input']),
  history: interactionsHistory,
  writer: ({ turn, body }) => writer(turn, nonEmptyString(body['model']) ?? ''),
  errorBody: ({ status, type, message }) => ({ error: { code: errorCodes.get(status) ?? type, message } }),
};

/** The codes of errors, by their status. */
const errorCodes: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request'],
  [401, 'unauthenticated'],
  [403, 'permission_denied'],
  [404, 'not_found'],
  [429, 'resource_exhausted'],
  [500, 'internal'],
  [503, 'unavailable'],
]);

type OpenStep = 'thought' | 'model_output';

function writer(turn: number, model: string): DialectWriter {
  const calls = createCallCollector();
  const id = `v1_interaction_${turn}`;
  let index = -1;
  let open: OpenStep | undefined;
  let callNumber = 0;
  let hasStarted = false;
  let hasFinished = false;

  const event = (type: string, fields: JsonObject): DialectFrame => ({
    event: type,
    data: JSON.stringify({ ...fields, event_type: type }),
  });
  const begin = (): readonly DialectFrame[] => {
    if (hasStarted) return [];
    hasStarted = true;
    return [
      event('interaction.created', { interaction: { id, status: 'in_progress', object: 'interaction', model } }),
      event('interaction.status_update', { interaction_id: id, status: 'in_progress' }),
    ];
  };
  const delta = (content: JsonObject) => event('step.delta', { index, delta: content });
  const start = (step: JsonObject) => event('step.start', { index: (index += 1), step });
  const stop = () => event('step.stop', { index });
  const close = (): readonly DialectFrame[] => {
    const frames =
      open === undefined
        ? []
        : [
            ...(open === 'thought' ? [delta({ type: 'thought_signature', signature: `c2lnbmF0dXJl${index}` })] : []),
            stop(),
          ];
    open = undefined;
    return frames;
  };
  const within = (type: OpenStep, content: JsonObject): readonly DialectFrame[] => {
    const before = open === type ? [] : [...close(), start({ type })];
    open = type;
    return [...before, delta(content)];
  };
  const call = ({ id: callId, name, arguments: args }: CompleteCall): readonly DialectFrame[] => {
    callNumber += 1;
    return [
      ...close(),
      start({ type: 'function_call', id: callId ?? `call_${turn}_${callNumber}`, name, arguments: {} }),
      ...splitJson(args).map((text) => delta({ type: 'arguments_delta', arguments: text })),
      stop(),
    ];
  };
  const write = (chunk: Exclude<Chunk, { type: 'toolCallFragment' }>): readonly DialectFrame[] => {
    switch (chunk.type) {
      case 'thinking':
        return within('thought', { type: 'thought_summary', content: { type: 'text', text: chunk.text } });
      case 'text':
        return within('model_output', { type: 'text', text: chunk.text });
      case 'file':
        return within('model_output', fileDelta(chunk));
      case 'source': {
        const { url, title } = chunk.source;
        const annotation = { type: 'url_citation', ...omitUndefined({ url, title }) };
        return within('model_output', { type: 'text_annotation_delta', annotations: [annotation] });
      }
      case 'metadata':
        return stepsOf(chunk).flatMap((step) => [...close(), start(step), stop()]);
      case 'finish':
        if (chunk.reason === 'unspecified') return close();
        hasFinished = true;
        return [
          ...close(),
          event('interaction.completed', {
            interaction: {
              id,
              status: chunk.rawReason ?? statuses[chunk.reason] ?? 'incomplete',
              object: 'interaction',
              model,
              ...(chunk.reason === 'paused' ? { continuation_token: `continuation-${turn}` } : {}),
              ...(chunk.usage ? { usage: wireUsage(chunk.usage) } : {}),
            },
          }),
        ];
      default:
        throw unsupportedChunk('Interactions API', chunk);
    }
  };

  return {
    next(chunk) {
      const complete = chunk.type === 'toolCallFragment' ? calls.add(chunk) : calls.flush();
      return [...begin(), ...complete.flatMap(call), ...(chunk.type === 'toolCallFragment' ? [] : write(chunk))];
    },
    error: (error) => [event('error', { error: failure(error) })],
    end: () => (hasFinished ? [{ event: 'done', data: '[DONE]' }] : []),
  };
}

function fileDelta(chunk: Extract<Chunk, { type: 'file' }>): JsonObject {
  const { mediaType, data, url } = chunk.file;
  const type = /^(image|audio|video)\//.exec(mediaType)?.[1] ?? 'document';
  return omitUndefined({ type, mime_type: mediaType, data, uri: url });
}

/** The steps that metadata stands for, as the provider reports it: the `raw` objects of `serverTools`. */
function stepsOf(chunk: MetadataChunk): readonly JsonObject[] {
  const steps = objectsIn(chunk.metadata['serverTools'])
    .map(({ raw }) => raw)
    .filter(isJsonObject);
  if (steps.length === 0) throw unsupportedChunk('Interactions API', chunk, ' without serverTools');
  return steps;
}

const statuses: Readonly<Partial<Record<FinishChunk['reason'], string>>> = {
  stop: 'completed',
  toolCalls: 'requires_action',
  length: 'incomplete',
  paused: 'requires_continuation',
  error: 'failed',
};

/** The API does not include thinking in `total_output_tokens`. */
const wireUsage = (usage: Usage): JsonObject =>
  omitUndefined({
    total_tokens: totalOf(usage),
    total_input_tokens: usage.input,
    total_output_tokens: usage.output === undefined ? undefined : usage.output - (usage.reasoning ?? 0),
    total_thought_tokens: usage.reasoning,
    total_cached_tokens: usage.cachedInput,
  });

const failure = (error: unknown): JsonObject => ({
  code: (isRecord(error) ? nonEmptyString(error['providerCode']) : undefined) ?? 'internal',
  message: errorText(error),
});
