import type { Chunk, FinishChunk, MetadataChunk } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { isJsonObject, nonEmptyString, omitUndefined, type JsonObject } from '../../../../core/json/json.js';
import type { Usage } from '../../../../core/usage.js';
import { splitJson, type CompleteCall } from '../completeCalls.js';
import { providerCodeOf, totalOf, unsupportedChunk } from '../dialect.js';
import type { Dialect, DialectFrame, DialectWriter } from '../dialect.js';
import { objectsIn } from '../history.js';
import { createWriter } from '../writer.js';
import { interactionsHistory } from './history.js';
import { refusedByInteractions } from './request.js';

/** Guide "Streaming interactions", SDK 3.1. Ids are constant: the same script results in the same bytes. */
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

const event = (type: string, fields: JsonObject): DialectFrame => ({
  event: type,
  data: JSON.stringify({ ...fields, event_type: type }),
});

function writer(turn: number, model: string): DialectWriter {
  const { close, within, call, whole } = createSteps(turn);
  const id = `v1_interaction_${turn}`;
  return createWriter('Interactions API', {
    begin: () => [
      event('interaction.created', { interaction: { id, status: 'in_progress', object: 'interaction', model } }),
      event('interaction.status_update', { interaction_id: id, status: 'in_progress' }),
    ],
    call,
    chunks: {
      thinking: ({ text }) => within('thought', { type: 'thought_summary', content: { type: 'text', text } }),
      text: ({ text }) => within('model_output', { type: 'text', text }),
      file: (chunk) => within('model_output', fileDelta(chunk)),
      source({ source: { url, title } }) {
        const annotation = { type: 'url_citation', ...omitUndefined({ url, title }) };
        return within('model_output', { type: 'text_annotation_delta', annotations: [annotation] });
      },
      metadata: (chunk) => stepsOf(chunk).flatMap(whole),
      finish({ reason, rawReason, usage }) {
        if (reason === 'unspecified') return close();
        const status = rawReason ?? statuses[reason] ?? 'incomplete';
        const token = reason === 'paused' ? { continuation_token: `continuation-${turn}` } : {};
        const counts = usage ? { usage: wireUsage(usage) } : {};
        const interaction = { id, status, object: 'interaction', model, ...token, ...counts };
        return [...close(), event('interaction.completed', { interaction })];
      },
    },
    error: (error) => [
      event('error', { error: { code: providerCodeOf(error) ?? 'internal', message: errorText(error) } }),
    ],
    end: ({ reason }) => (reason === 'unspecified' ? [] : [{ event: 'done', data: '[DONE]' }]),
  });
}

function createSteps(turn: number) {
  let index = -1;
  let open: OpenStep | undefined;
  let callNumber = 0;

  const delta = (content: JsonObject) => event('step.delta', { index, delta: content });
  const start = (step: JsonObject) => event('step.start', { index: (index += 1), step });
  const stop = () => event('step.stop', { index });
  const close = (): readonly DialectFrame[] => {
    const signature = { type: 'thought_signature', signature: `c2lnbmF0dXJl${index}` };
    const frames = open === undefined ? [] : [...(open === 'thought' ? [delta(signature)] : []), stop()];
    open = undefined;
    return frames;
  };

  return {
    close,
    within: (type: OpenStep, content: JsonObject): readonly DialectFrame[] => {
      const before = open === type ? [] : [...close(), start({ type })];
      open = type;
      return [...before, delta(content)];
    },
    call: ({ id, name, arguments: args }: CompleteCall): readonly DialectFrame[] => {
      callNumber += 1;
      return [
        ...close(),
        start({ type: 'function_call', id: id ?? `call_${turn}_${callNumber}`, name, arguments: {} }),
        ...splitJson(args).map((text) => delta({ type: 'arguments_delta', arguments: text })),
        stop(),
      ];
    },
    whole: (step: JsonObject): readonly DialectFrame[] => [...close(), start(step), stop()],
  };
}

function fileDelta(chunk: Extract<Chunk, { type: 'file' }>): JsonObject {
  const { mediaType, data, url } = chunk.file;
  const type = /^(image|audio|video)\//.exec(mediaType)?.[1] ?? 'document';
  return omitUndefined({ type, mime_type: mediaType, data, uri: url });
}

/** The `raw` objects of `serverTools`, as the provider reports them. */
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
