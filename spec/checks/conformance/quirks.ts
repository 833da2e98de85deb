import * as z from 'zod';
import { isRecord } from '../../../lib/core/json/json.js';
import type { FinishReason } from '../../../lib/core/chunk.js';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import type { ToolDefinition } from '../../../lib/core/tool.js';
import { openTool } from './case.js';
import type { Case, Expectation, Found } from './case.js';
import { framingOf } from './providers.js';

const json = z.json() as z.ZodType<JsonValue>;
const object = z.record(z.string(), json) as z.ZodType<JsonObject>;
const calls = z.array(z.object({ name: z.string(), arguments: json, id: z.string().nullish() }));
const reason = z.enum([
  'stop',
  'length',
  'toolCalls',
  'contentFilter',
  'paused',
  'error',
  'other',
  'unspecified',
] as const satisfies readonly FinishReason[]);

const expectedShape = z.object({
  text: z.string().optional(),
  thinking: z.string().optional(),
  toolCalls: calls.optional(),
  toolCallsAnyOf: z.array(calls).min(1).optional(),
  finishReason: z.union([reason, z.array(reason).min(1)]).optional(),
  usage: z.object({ inputTokens: z.number().optional(), outputTokens: z.number().optional() }).nullable().optional(),
  error: z.union([z.boolean(), z.string()]).optional(),
  droppedPartial: z.boolean().optional(),
  files: z.array(object).optional(),
  sources: z.array(object).optional(),
});

const caseShape = z.object({
  id: z.string().min(1),
  wire: z.string().min(1),
  frames: z.array(z.union([z.string(), z.object({ end: z.literal('reset') })])),
  options: z.object({ thinkTags: z.boolean().optional() }).nullish(),
  expected: expectedShape,
});

const toolShape = z.object({ name: z.string(), description: z.string(), parameters: object });

/** Whether a document is a quirks file. */
export const isQuirks = (
  document: unknown,
): document is { readonly cases: readonly unknown[]; readonly about?: unknown } =>
  isRecord(document) && Array.isArray(document['cases']);

/**
 * Reads the cases of a quirks file.
 *
 * @param document The file, parsed.
 * @param source Its path.
 */
export function quirks(
  document: { readonly cases: readonly unknown[]; readonly about?: unknown },
  source: string,
): readonly Found[] {
  const offered = z.object({ tools: z.array(toolShape) }).safeParse(document.about);
  const tools = offered.success ? offered.data.tools : undefined;
  return document.cases.map((one, at): Found => {
    const read = caseShape.safeParse(one);
    if (read.success) return caseOf(read.data, source, tools);
    const entry = isRecord(one) ? one : {};
    const id = typeof entry['id'] === 'string' ? entry['id'] : `case ${at + 1}`;
    const wire = typeof entry['wire'] === 'string' ? { wire: entry['wire'] } : {};
    return { id, source, ...wire, problem: `This case is malformed: ${z.prettifyError(read.error)}` };
  });
}

function caseOf(read: z.infer<typeof caseShape>, source: string, tools: readonly ToolDefinition[] | undefined): Case {
  const end = read.frames.findIndex((frame) => typeof frame !== 'string');
  const sent = end === -1 ? read.frames : read.frames.slice(0, end);
  const expected = expectationOf(read.expected);
  const named = new Set((expected.toolCalls ?? []).flat().map(({ name }) => name));
  return {
    id: read.id,
    wire: read.wire,
    source,
    thinkTags: read.options?.thinkTags ?? false,
    tools: tools ?? [...named].filter((name) => name !== '').map(openTool),
    body: {
      framing: framingOf(read.wire),
      writes: sent.filter((frame) => typeof frame === 'string'),
      reset: end !== -1,
      optionalDone: false,
    },
    expected,
  };
}

function expectationOf(read: z.infer<typeof expectedShape>): Expectation {
  const { text, thinking, finishReason, usage, error, files, sources } = read;
  const lists = read.toolCallsAnyOf ?? (read.toolCalls ? [read.toolCalls] : undefined);
  return {
    ...(text === undefined ? {} : { text }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(lists ? { toolCalls: lists.map((list) => list.map((call) => ({ ...call, id: call.id ?? 'any' }))) } : {}),
    ...(finishReason === undefined ? {} : { finishReason: [finishReason].flat() }),
    ...(usage === undefined ? {} : { usage: usage === null ? null : counts(usage) }),
    ...(error === undefined ? {} : { error }),
    ...(read.droppedPartial ? { droppedPartial: true } : {}),
    ...(files ? { files } : {}),
    ...(sources ? { sources } : {}),
  };
}

const counts = ({
  inputTokens,
  outputTokens,
}: {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
}) => ({
  ...(inputTokens === undefined ? {} : { input: inputTokens }),
  ...(outputTokens === undefined ? {} : { output: outputTokens }),
});
