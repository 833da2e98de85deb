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

/** Values of one attribute that a meter has. Each is a series for as long as the process lives. */
const MOST_VALUES = 1000;

interface Recorded {
  /** OpenTelemetry warns of an instrument that is created twice. */
  readonly instruments: Map<string, Histogram | Counter>;
  readonly values: Map<string, Set<unknown>>;
}

const meters = /* @__PURE__ */ new WeakMap<Meter, Recorded>();

function recordedBy(meter: Meter): Recorded {
  const recorded = meters.get(meter) ?? { instruments: new Map(), values: new Map() };
  meters.set(meter, recorded);
  return recorded;
}

function instrument<T extends Histogram | Counter>(meter: Meter, name: string, create: () => T): T {
  const { instruments } = recordedBy(meter);
  const known = (instruments.get(name) as T | undefined) ?? create();
  instruments.set(name, known);
  return known;
}

/** A server may send another model's name, or another error's code, with each response. */
function boundedAttributes(meter: Meter, attributes: Attributes): Attributes {
  const { values } = recordedBy(meter);
  const bounded = Object.entries(attributes).map(([name, value]) => {
    const known = values.get(name) ?? new Set();
    values.set(name, known);
    if (known.size < MOST_VALUES) known.add(value);
    return [name, known.has(value) ? value : '_OTHER'];
  });
  return Object.fromEntries(bounded) as Attributes;
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
  ).record(value, boundedAttributes(meter, attributes), context);
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
    const typed = { ...attributes, 'gen_ai.token.modality': 'unknown' };
    counter.add(count, boundedAttributes(meter, typed), context);
  }
}
