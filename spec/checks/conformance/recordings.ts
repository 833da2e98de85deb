import { basename, dirname } from 'node:path';
import * as z from 'zod';
import type { FinishReason } from '../../../lib/core/chunk.js';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { openTool } from './case.js';
import type { Body, Expectation, Found } from './case.js';
import { typeOf } from './framings.js';
import { isKnownWire } from './providers.js';

const json = z.json() as z.ZodType<JsonValue>;
const object = z.record(z.string(), json) as z.ZodType<JsonObject>;
const count = z.number().nullish();

const expectedShape = z.object({
  text: z.string().optional(),
  reasoning: z.string().optional(),
  toolCalls: z.array(z.object({ id: z.string().nullish(), name: z.string(), arguments: json })).optional(),
  finishReason: z.string().nullish(),
  finishReasonAlsoAccepted: z.array(z.string()).nullish(),
  wireFinishReason: z.string().nullish(),
  usage: z
    .object({ input: count, output: count, reasoning: count, cacheRead: count, cacheWrite: count })
    .nullable()
    .optional(),
  error: z.union([z.boolean(), z.string(), object]).nullable().optional(),
  files: z.array(object).optional(),
  sources: z.array(object).optional(),
});

const recordingShape = z.object({
  wire: z.string().optional(),
  protocol: z.string().optional(),
  model: z.string().nullish(),
  framing: z
    .object({
      kind: z.enum(['sse', 'ndjson']),
      eventNames: z.boolean().optional(),
      doneSentinel: z.boolean().optional(),
      lineEnds: z.string().optional(),
      comments: z.array(z.string()).optional(),
    })
    .optional(),
  options: z.object({ thinkTags: z.boolean().optional() }).nullish(),
  expected: expectedShape,
});

type Recording = z.infer<typeof recordingShape>;

/** The framing of each protocol, for recordings that do not specify one. */
const framings: Readonly<Record<string, NonNullable<Recording['framing']>>> = {
  'openai-chat': { kind: 'sse', doneSentinel: true },
  'openai-responses': { kind: 'sse', eventNames: true },
  anthropic: { kind: 'sse', eventNames: true },
  google: { kind: 'sse', lineEnds: 'CRLF' },
  cohere: { kind: 'sse', eventNames: true },
  ollama: { kind: 'ndjson' },
};

/**
 * Reads a recording.
 *
 * @param stem The common stem of its two paths.
 * @param chunks The payloads, one per line.
 * @param document The expectation, parsed.
 */
export function recording(stem: string, chunks: string, document: unknown): Found {
  const source = `${stem}.expected.json`;
  const folder = basename(dirname(stem));
  const id = `${folder}/${basename(stem)}`;
  const read = recordingShape.safeParse(document);
  if (!read.success) return { id, source, problem: `${basename(source)} is malformed: ${z.prettifyError(read.error)}` };
  const { protocol, model, options } = read.data;
  const wire = read.data.wire ?? (isKnownWire(folder) || protocol === undefined ? folder : protocol);
  const payloads = chunks
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line !== '');
  if (payloads.length === 0) return { id, source, wire, problem: `${basename(stem)}.chunks.txt contains no payload.` };
  const expected = expectationOf(read.data.expected);
  const names = new Set((expected.toolCalls ?? []).flat().map(({ name }) => name));
  return {
    id,
    wire,
    source,
    ...(model ? { model } : {}),
    thinkTags: options?.thinkTags ?? false,
    tools: [...names].filter((name) => name !== '').map(openTool),
    body: bodyOf(
      payloads,
      read.data.framing ?? framings[protocol ?? wire] ?? { kind: 'sse', doneSentinel: true },
      hasFinishReason(expected),
    ),
    expected,
  };
}

function bodyOf(
  payloads: readonly string[],
  { kind, eventNames, doneSentinel, lineEnds, comments = [] }: NonNullable<Recording['framing']>,
  optionalDone: boolean,
): Body {
  const end = lineEnds === 'CRLF' ? '\r\n' : lineEnds === 'CR' ? '\r' : '\n';
  const event = (payload: string) => {
    const name = eventNames ? typeOf(payload) : undefined;
    return [...(name === undefined ? [] : [`event: ${name}`]), `data: ${payload}`, '', ''].join(end);
  };
  const writes =
    kind === 'ndjson'
      ? payloads.map((payload) => `${payload}${end}`)
      : [
          ...comments.map((comment) => `${comment}${end}${end}`),
          ...[...payloads, ...(doneSentinel ? ['[DONE]'] : [])].map(event),
        ];
  return { framing: kind, writes, reset: false, optionalDone: kind === 'sse' && optionalDone };
}

/** Whether the response has a finish reason, so that its terminal mark is redundant. */
const hasFinishReason = ({ error, finishReason }: Expectation) =>
  error === false && finishReason?.includes('unspecified') === false;

/** The finish reasons of recordings, as Rivulet's. Recordings have none for a paused response. */
const reasons: Readonly<Record<string, readonly FinishReason[]>> = {
  stop: ['stop'],
  length: ['length'],
  'tool-calls': ['toolCalls'],
  'content-filter': ['contentFilter'],
  error: ['error'],
  other: ['other', 'paused'],
  unknown: ['unspecified'],
};

function expectationOf(read: z.infer<typeof expectedShape>): Expectation {
  const { text, reasoning, toolCalls, usage, error, files, sources } = read;
  const words = [...(read.finishReason ? [read.finishReason] : []), ...(read.finishReasonAlsoAccepted ?? [])];
  const paused: readonly FinishReason[] = read.wireFinishReason?.includes('pause') ? ['paused'] : [];
  const accepted = words.flatMap((word) => reasons[word] ?? [word as FinishReason]);
  return {
    ...(text === undefined ? {} : { text }),
    ...(reasoning === undefined ? {} : { thinking: reasoning }),
    ...(toolCalls ? { toolCalls: [toolCalls.map((call) => ({ ...call, id: call.id ?? 'generated' }))] } : {}),
    ...(words.length > 0 ? { finishReason: [...accepted, ...paused] } : {}),
    ...(usage === undefined ? {} : { usage: usage === null ? null : counts(usage) }),
    ...(error === undefined ? {} : errorOf(error, accepted.includes('unspecified'))),
    ...(files ? { files } : {}),
    ...(sources ? { sources } : {}),
  };
}

/** A response without a finish reason may be reported as interrupted, although it contains no error. */
function errorOf(
  error: z.infer<typeof expectedShape>['error'],
  open: boolean,
): Pick<Expectation, 'error' | 'errorCode'> {
  if (error === null || error === undefined) return open ? {} : { error: false };
  if (typeof error !== 'object') return { error };
  const { message, code } = error;
  const errorCode = typeof code === 'string' || typeof code === 'number' ? { errorCode: String(code) } : {};
  return { error: typeof message === 'string' && message !== '' ? message : true, ...errorCode };
}

function counts({
  input,
  output,
  reasoning,
  cacheRead,
  cacheWrite,
}: NonNullable<z.infer<typeof expectedShape>['usage']>) {
  const compared = { input, output, reasoning, cachedInput: cacheRead, cacheWriteInput: cacheWrite };
  return Object.fromEntries(Object.entries(compared).filter(([, value]) => typeof value === 'number'));
}
