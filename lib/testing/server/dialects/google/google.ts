import type { FinishChunk, MetadataChunk } from '../../../../core/chunk.js';
import { errorText } from '../../../../core/errors.js';
import { isJsonObject, isRecord, nonEmptyString, objectOrEmpty, omitUndefined } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import type { ProviderData } from '../../../../core/providerPart.js';
import type { Usage } from '../../../../core/usage.js';
import { words } from '../../../../core/words.js';
import type { CompleteCall } from '../completeCalls.js';
import { providerCodeOf, refusal, totalOf, unsupportedChunk } from '../dialect.js';
import type { Dialect, DialectFrame, DialectWriter, Refusal } from '../dialect.js';
import { createWriter } from '../writer.js';
import { objectsIn } from '../history.js';
import { historyObjection } from '../historyRules.js';
import { refusedByGoogleSettings } from '../settings.js';
import { googleHistory } from './history.js';
import { historyRules } from './historyRules.js';

/**
 * `alt=sse`, with a thought signature on the first call (guide "Thought signatures"). `paused` stops with
 * `CONTINUATION`, whose token must be sent back. Ids are constant: the same script results in the same bytes.
 */
export const google: Dialect = {
  framing: 'sse',
  contentType: 'text/event-stream',
  bases: { google: '/v1beta' },
  serves: (path) => path.endsWith(':streamGenerateContent'),
  keyIn: (headers) => headers['x-goog-api-key'],
  refusal: googleRefusal,
  messages: (body) => objectsIn(body['contents']),
  history: googleHistory,
  writer: ({ turn, path }) => writer(turn, /\/([^/:]+):/.exec(path)?.[1] ?? ''),
  errorBody: ({ status, message }) => ({
    error: { code: status, message, status: statusNames.get(status) ?? 'UNKNOWN' },
  }),
};

/** `google.rpc.Code`. */
const statusNames: ReadonlyMap<number, string> = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [429, 'RESOURCE_EXHAUSTED'],
  [500, 'INTERNAL'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

function writer(turn: number, model: string): DialectWriter {
  let hasSignature = false;
  const frame = (candidate: JsonObject, more: JsonObject = {}): DialectFrame => {
    const tail = { ...more, modelVersion: model, responseId: `response-${turn}` };
    return { data: JSON.stringify({ candidates: [{ ...candidate, index: 0 }], ...tail }) };
  };
  const parts = (...some: JsonObject[]): JsonObject => ({ content: { parts: some, role: 'model' } });
  const callPart = ({ id, name, arguments: args, providerData }: CompleteCall): JsonObject => {
    const signature = signatureIn(providerData) ?? (hasSignature ? undefined : `c2lnbmF0dXJl${turn}`);
    hasSignature = true;
    const functionCall = { ...(id === undefined ? {} : { id }), name, args };
    return { functionCall, ...(signature === undefined ? {} : { thoughtSignature: signature }) };
  };
  const part = (content: JsonObject) => [frame(parts(content))];

  return createWriter('Gemini API', {
    call: (call) => part(callPart(call)),
    chunks: {
      text: ({ text }) => part({ text }),
      thinking: ({ text }) => part({ text, thought: true }),
      file(chunk) {
        const { mediaType, data } = chunk.file;
        if (data === undefined) throw unsupportedChunk('Gemini API', chunk);
        return part({ inlineData: { mimeType: mediaType, data } });
      },
      provider(chunk) {
        if (!isJsonObject(chunk.data['part'])) throw unsupportedChunk('Gemini API', chunk);
        return part(chunk.data['part']);
      },
      source: ({ source }) => [frame(grounded(source))],
      metadata: (chunk) => candidatesOf(chunk).map((candidate) => frame(candidate)),
      finish(chunk) {
        const usage: JsonObject = chunk.usage ? { usageMetadata: wireUsage(chunk.usage) } : {};
        if (chunk.reason === 'unspecified') return [];
        const token = chunk.reason === 'paused' ? { continuationToken: `continuation-${turn}` } : {};
        return [frame({ ...parts({ text: '' }), finishReason: wireReason(chunk), ...token }, usage)];
      },
    },
    error: (error) => [{ data: JSON.stringify(failure(error)) }],
  });
}

const signatureIn = (data: ProviderData | undefined): string | undefined =>
  nonEmptyString(objectOrEmpty(data?.['google'])['thoughtSignature']);

/** The `raw` objects of `serverTools`, as the provider reports them, and a part of an `unknown` kind. */
function candidatesOf(chunk: MetadataChunk): readonly JsonObject[] {
  const { serverTools, unknown } = chunk.metadata;
  const raws = [...objectsIn(serverTools).map(({ raw }) => raw), unknown].filter(isJsonObject);
  if (raws.length === 0) throw unsupportedChunk('Gemini API', chunk, ' without serverTools');
  return raws.map((raw) => {
    if (raw['webSearchQueries'] !== undefined) return { groundingMetadata: raw };
    if (raw['urlMetadata'] !== undefined) return { urlContextMetadata: raw };
    return { content: { parts: [raw], role: 'model' } };
  });
}

const grounded = ({ url, title }: { readonly url?: string; readonly title?: string }): JsonObject => ({
  groundingMetadata: { groundingChunks: [{ web: { uri: url ?? '', title: title ?? '' } }] },
});

const finishReasons: Readonly<Record<string, string>> = {
  stop: 'STOP',
  toolCalls: 'STOP',
  length: 'MAX_TOKENS',
  contentFilter: 'SAFETY',
  error: 'MALFORMED_FUNCTION_CALL',
  paused: 'CONTINUATION',
};

const wireReason = ({ reason, rawReason }: FinishChunk): string => rawReason ?? finishReasons[reason] ?? 'OTHER';

/** The API does not include thinking in `candidatesTokenCount`. */
const wireUsage = (usage: Usage): JsonObject =>
  omitUndefined({
    promptTokenCount: usage.input,
    candidatesTokenCount: usage.output === undefined ? undefined : usage.output - (usage.reasoning ?? 0),
    totalTokenCount: totalOf(usage),
    cachedContentTokenCount: usage.cachedInput,
    thoughtsTokenCount: usage.reasoning,
  });

function failure(error: unknown): JsonObject {
  const word = providerCodeOf(error) ?? 'INTERNAL';
  const code = [...statusNames].find(([, known]) => known === word)?.[0] ?? 500;
  return { error: { code, message: errorText(error), status: word } };
}

const refused = (message: string) => refusal('INVALID_ARGUMENT', message);

/** `GenerateContentRequest`. The API refuses all others. */
const requestFields = /* @__PURE__ */ words(`
  contents tools toolConfig safetySettings systemInstruction generationConfig cachedContent labels continuationToken
`);

function googleRefusal(body: unknown): Refusal | undefined {
  if (!isRecord(body)) return refused('Invalid JSON payload received.');
  const unknown = Object.keys(body).find((field) => !requestFields.has(field));
  if (unknown !== undefined)
    return refused(`Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`);
  if (isMixed(body))
    return refused(
      'Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.',
    );
  const { contents } = body as { readonly contents?: unknown };
  if (!Array.isArray(contents) || contents.length === 0)
    return refused('* GenerateContentRequest.contents: contents is not specified');
  const objection = refusedByGoogleSettings(body) ?? historyObjection(historyRules, objectsIn(contents));
  return objection === undefined ? undefined : refused(objection);
}

function isMixed({ tools, toolConfig }: Record<string, unknown>): boolean {
  if (!Array.isArray(tools) || (isRecord(toolConfig) && toolConfig['includeServerSideToolInvocations'] === true))
    return false;
  const kinds = tools.filter(isRecord).flatMap((tool) => Object.keys(tool));
  return kinds.includes('functionDeclarations') && kinds.some((kind) => kind !== 'functionDeclarations');
}
