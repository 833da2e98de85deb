import { context, diag, DiagLogLevel } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import type { DataPoint, Histogram } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-base';

/** Collects on request only. */
class Reader extends MetricReader {
  protected override onForceFlush = () => Promise.resolve();
  protected override onShutdown = () => Promise.resolve();
}

/** Installs the context manager of Node. Returns a function that removes it. */
export function useContextManager(): () => void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return () => context.disable();
}

const idOf = (span: ReadableSpan) => span.spanContext().spanId;

/** Records spans and metrics with OpenTelemetry's own SDK. */
export function record() {
  const exporter = new InMemorySpanExporter();
  const started: ReadableSpan[] = [];
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const ignore = () => undefined;
  // The SDK warns of a span that is changed or ended after its end.
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const starts: SpanProcessor = {
    onStart: (span) => void started.push(span),
    onEnd: ignore,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
  const tracer = new BasicTracerProvider({
    spanProcessors: [starts, new SimpleSpanProcessor(exporter)],
  }).getTracer('spec');
  const reader = new Reader();
  const meter = new MeterProvider({ readers: [reader] }).getMeter('spec');

  const ended = () => exporter.getFinishedSpans();
  const lines = (parent: ReadableSpan | undefined, depth: number): string[] =>
    started
      .filter((span) =>
        parent
          ? span.parentSpanContext?.spanId === idOf(parent)
          : !started.some((other) => idOf(other) === span.parentSpanContext?.spanId),
      )
      .flatMap((span) => [
        '  '.repeat(depth) + [span.name, span.attributes['error.type']].filter(Boolean).join(' !'),
        ...lines(span, depth + 1),
      ]);

  /** The values of all metrics: the sums of histograms and counters. */
  const metrics = async () => {
    const { resourceMetrics } = await reader.collect();
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor, dataPoints }) =>
        (dataPoints as readonly DataPoint<number | Histogram>[]).map(({ value, attributes }) => ({
          name: descriptor.name,
          unit: descriptor.unit,
          sum: typeof value === 'number' ? value : (value.sum ?? 0),
          count: typeof value === 'number' ? 1 : value.count,
          attributes,
        })),
      ),
    );
  };

  return {
    options: { tracer, meter },
    tracer,
    ended,
    warnings,
    /** The names of all spans, indented below their parents, in the order of their starts, with their errors. */
    tree: () => lines(undefined, 0),
    /** The spans that have started and not ended. */
    open: () => started.filter((span) => !ended().some((other) => idOf(other) === idOf(span))).map(({ name }) => name),
    /** The only span with this name. */
    span: (name: string): ReadableSpan => {
      const named = started.filter((span) => span.name === name);
      if (named.length !== 1 || !named[0]) throw new Error(`${named.length} spans are named "${name}".`);
      return named[0];
    },
    /** Everything that was recorded, as text. */
    text: async (): Promise<string> => {
      const spans = started.map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
      return JSON.stringify([spans, await metrics()]);
    },
    metrics,
  };
}
