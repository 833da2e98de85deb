import type { Attributes, Context, Counter, Histogram, Meter } from '@opentelemetry/api';
import type { Usage } from '../../core/usage.js';
import type { Telemetry } from './telemetry.js';

/** The conventions recommend these bucket boundaries. */
const seconds = /* @__PURE__ */ Array.from({ length: 14 }, (_, power) => 2 ** power / 100); // 0.01 to 81.92
const agentSeconds = /* @__PURE__ */ Array.from({ length: 13 }, (_, power) => 2 ** power / 10); // 0.1 to 409.6
const tokens = /* @__PURE__ */ Array.from({ length: 14 }, (_, power) => 4 ** power); // 1 to 67108864

const kinds = {
  duration: { unit: 's', boundaries: seconds },
  agentDuration: { unit: 's', boundaries: agentSeconds },
  tokens: { unit: '{token}', boundaries: tokens },
} as const;

const histograms = {
  'gen_ai.client.operation.duration': ['duration', 'GenAI operation duration.'],
  'gen_ai.client.operation.time_to_first_chunk': ['duration', 'Time to receive the first chunk.'],
  'gen_ai.client.token.usage': ['tokens', 'Number of input and output tokens used.'],
  'gen_ai.client.inference.duration': ['duration', 'GenAI client inference operation duration.'],
  'gen_ai.client.inference.time_to_first_chunk': ['duration', 'Time to receive the first chunk.'],
  'gen_ai.client.inference.operation.input_tokens': ['tokens', 'Number of input tokens of one operation.'],
  'gen_ai.client.inference.operation.output_tokens': ['tokens', 'Number of output tokens of one operation.'],
  'gen_ai.invoke_agent.duration': ['agentDuration', 'GenAI agent invocation duration.'],
  'gen_ai.execute_tool.duration': ['duration', 'GenAI tool execution duration.'],
} as const satisfies Record<string, readonly [keyof typeof kinds, string]>;

export type HistogramName = keyof typeof histograms;

const counters = {
  'gen_ai.client.inference.usage.input_tokens': 'input',
  'gen_ai.client.inference.usage.output_tokens': 'output',
  'gen_ai.client.inference.usage.cache_read.input_tokens': 'cachedInput',
  'gen_ai.client.inference.usage.cache_write.input_tokens': 'cacheWriteInput',
  'gen_ai.client.inference.usage.reasoning.output_tokens': 'reasoning',
} as const satisfies Record<string, keyof Usage>;

/** OpenTelemetry warns of an instrument that is created twice. */
const instruments = /* @__PURE__ */ new WeakMap<Meter, Map<string, Histogram | Counter>>();

function instrument<T extends Histogram | Counter>(meter: Meter, name: string, create: () => T): T {
  const known = instruments.get(meter) ?? new Map<string, Histogram | Counter>();
  instruments.set(meter, known);
  const existing = known.get(name) as T | undefined;
  if (existing) return existing;
  const created = create();
  known.set(name, created);
  return created;
}

export function recordHistogram(
  { meter }: Telemetry,
  name: HistogramName,
  value: number,
  attributes: Attributes,
  context: Context,
): void {
  const [kind, description] = histograms[name];
  const { unit, boundaries } = kinds[kind];
  instrument(meter, name, () =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: [...boundaries] } }),
  ).record(value, attributes, context);
}

export function recordTokens(telemetry: Telemetry, usage: Usage, attributes: Attributes, context: Context): void {
  const { meter, conventions } = telemetry;
  for (const type of ['input', 'output'] as const) {
    const count = usage[type];
    if (count === undefined) continue;
    if (conventions === 'latest') {
      recordHistogram(telemetry, `gen_ai.client.inference.operation.${type}_tokens`, count, attributes, context);
    } else {
      const typed = { ...attributes, 'gen_ai.token.type': type };
      recordHistogram(telemetry, 'gen_ai.client.token.usage', count, typed, context);
    }
  }
  if (conventions !== 'latest') return;
  for (const [name, key] of Object.entries(counters)) {
    const count = usage[key];
    if (count === undefined) continue;
    const counter = instrument(meter, name, () => meter.createCounter(name, { unit: '{token}' }));
    counter.add(count, { ...attributes, 'gen_ai.token.modality': 'unknown' }, context);
  }
}
