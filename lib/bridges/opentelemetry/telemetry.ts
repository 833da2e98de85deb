import { metrics, trace } from '@opentelemetry/api';
import type { Attributes, Context, Meter, Tracer } from '@opentelemetry/api';
import type { Usage } from '../../core/usage.js';
import type { Orchestrator } from '../../orchestrators/orchestrator.js';

/** Options of `traceModel` and `traceAgent`. */
export interface TraceOptions {
  /**
   * Whether spans contain what people, models and tools write: the messages, the system prompt, the definitions of the
   * tools, their arguments and results, and the messages of all errors. Default: false, so spans contain names,
   * settings, counts, codes, and the messages of errors of the network and the provider.
   */
  readonly content?: boolean | undefined;
  /**
   * The version of the conventions by which model calls are measured. `1.41` is the last published version:
   * `gen_ai.client.token.usage`, `gen_ai.client.operation.duration`. `latest` are the names that replace them, which
   * have no version yet: `gen_ai.client.inference.duration`, `gen_ai.client.inference.usage.input_tokens`. Default:
   * `1.41`.
   */
  readonly conventions?: Conventions | undefined;
  /** Creates the spans. Default: the tracer `rivulet` of the global provider, looked up at each subscription. */
  readonly tracer?: Tracer | undefined;
  /** Creates the metrics. Default: the meter `rivulet` of the global provider, looked up at each subscription. */
  readonly meter?: Meter | undefined;
}

/** A version of OpenTelemetry's conventions for generative AI. */
export type Conventions = '1.41' | 'latest';

/** What the operations of one run, or of one request, record to. */
export interface Telemetry {
  readonly content: boolean;
  readonly conventions: Conventions;
  readonly tracer: Tracer;
  readonly meter: Meter;
}

/** Applies the defaults. */
export const telemetryOf = ({ content = false, conventions = '1.41', tracer, meter }: TraceOptions): Telemetry => ({
  content,
  conventions,
  tracer: tracer ?? trace.getTracer('rivulet'),
  meter: meter ?? metrics.getMeter('rivulet'),
});

/** The run to which a turn belongs. */
export interface TracedRun {
  readonly telemetry: Telemetry;
  readonly context: Context;
  /** `gen_ai.agent.name`, if the agent has a name. */
  readonly agent: Attributes;
  /** Called with the arguments of each turn before it starts. */
  readonly onTurn: (...turn: Parameters<Orchestrator['turn']>) => void;
  /** Called with what each request has used. */
  readonly onUsage: (usage: Usage) => void;
}
