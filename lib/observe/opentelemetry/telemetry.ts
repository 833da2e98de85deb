import { metrics, trace, type Attributes, type Context, type Meter, type Tracer } from '@opentelemetry/api';
import type { Usage } from '../../core/usage.js';
import type { Orchestrator } from '../../agent/orchestrator.js';
import { version } from './version.js';

/** Options of `traceModel` and `traceAgent`. */
export interface TraceOptions {
  /**
   * Whether spans contain content that people, models and tools write: the messages, the system prompt, the definitions
   * of the tools, their arguments and results, and the messages of all errors. Default: false, so spans contain names,
   * settings, counts, codes, the classes of other libraries' errors, and the messages of errors of the network and the
   * provider.
   */
  readonly content?: boolean | undefined;
  /**
   * The version of the conventions for the metrics of model calls. `1.41` is the last published one
   * (`gen_ai.client.token.usage`, `gen_ai.client.operation.duration`). `latest` has the names that replace them
   * (`gen_ai.client.inference.duration`, `gen_ai.client.inference.usage.input_tokens`). Default: `1.41`.
   */
  readonly conventions?: Conventions | undefined;
  /** Creates the spans. Default: the tracer `rivulet` of the global provider, looked up at each subscription. */
  readonly tracer?: Tracer | undefined;
  /** Creates the metrics. Default: the meter `rivulet` of the global provider, looked up at each subscription. */
  readonly meter?: Meter | undefined;
}

/** A version of OpenTelemetry's conventions for generative AI. */
export type Conventions = '1.41' | 'latest';

export interface Telemetry {
  readonly content: boolean;
  readonly conventions: Conventions;
  readonly tracer: Tracer;
  readonly meter: Meter;
}

export const createTelemetry = ({ content = false, conventions = '1.41', tracer, meter }: TraceOptions): Telemetry => ({
  content,
  conventions,
  tracer: tracer ?? trace.getTracer('rivulet', version),
  meter: meter ?? metrics.getMeter('rivulet', version),
});

export interface TracedRun {
  readonly telemetry: Telemetry;
  readonly context: Context;
  readonly agent: Attributes;
  readonly traceInner: <A extends object>(agent: A, tool: string) => A;
  readonly onTurn: (...turn: Parameters<Orchestrator['turn']>) => void;
  readonly onUsage: (usage: Usage) => void;
}
