import { context, SpanKind, type Attributes, type Context } from '@opentelemetry/api';
import { defer, type Observable } from 'rxjs';
import type { Chunk, RetryChunk } from '../../core/chunk.js';
import { deriveModel } from '../../core/deriveModel.js';
import { StreamInterruptedError } from '../../core/errors.js';
import type { Metadata } from '../../core/message.js';
import type { Model, ModelRequest } from '../../core/model.js';
import { withToolNames } from '../../core/toolNames.js';
import { usageOfError } from '../../core/usageOfError.js';
import { addUsage, type Usage } from '../../core/usage.js';
import {
  finishAttributes,
  modelAttributes,
  requestAttributes,
  responseAttributes,
  usageAttributes,
} from './attributes.js';
import { inputAttributes, OutputCollector, outputAttributes } from './content.js';
import { errorTypeOfJson, noteRequest, requestFilter } from './errors.js';
import { recordHistogram, recordTokens } from './metrics.js';
import { Operation, runOperation } from './operation.js';
import { createTelemetry, type Telemetry, type TraceOptions } from './telemetry.js';

/**
 * Records the requests of a model as spans and metrics of OpenTelemetry.
 *
 * <span class="informal">One `chat` span per request, for models that are used without an agent.</span>
 *
 * Each subscription to `stream` is a span `chat <model>`, a child of the context that is active at the subscription. It
 * ends with the `finish` chunk, with an error, or when it is unsubscribed. It covers the retries of the request, which
 * are events of the span. The metrics are the duration, the time to the first chunk, and the tokens.
 *
 * `traceAgent` traces the models of an agent itself. Do not pass a traced model to a traced agent.
 *
 * ```ts
 * const model = traceModel(openai('gpt-6.1-terra'));
 * model.stream({ messages: [userMessage('Hi')] }).pipe(consolidate()).subscribe();
 * ```
 *
 * @param model The model.
 * @param options `content` (default: false), `conventions` (default: `1.41`), `tracer` and `meter` (default: those of
 * the global providers).
 * @returns A model with the provider, the name and the capabilities of `model`.
 */
export function traceModel(model: Model, options: TraceOptions = {}): Model {
  return deriveModel(model, (request) =>
    defer(() => tracedStream(model, request, createTelemetry(options), context.active())),
  );
}

export function tracedStream(
  model: Model,
  request: ModelRequest,
  telemetry: Telemetry,
  parent: Context,
  onUsage: (usage: Usage) => void = () => undefined,
): Observable<Chunk> {
  return defer(() => {
    const call = new ModelCall(model, request, telemetry, parent, onUsage);
    return defer(() => withToolNames(model).stream(request)).pipe(runOperation<Chunk>(call.operation, call));
  });
}

class ModelCall {
  readonly operation: Operation;
  private attributes: Attributes;
  private usage: Usage = {};
  private timeToFirstChunk: number | undefined;
  private readonly output: OutputCollector | undefined;

  constructor(
    { provider, name }: Model,
    private readonly request: ModelRequest,
    private readonly telemetry: Telemetry,
    parent: Context,
    private readonly onUsage: (usage: Usage) => void,
  ) {
    this.attributes = { 'gen_ai.operation.name': 'chat', ...modelAttributes({ provider, name }) };
    const attributes = { ...this.attributes, ...requestAttributes(request) };
    this.operation = new Operation(
      telemetry,
      { name: `chat ${name}`, kind: SpanKind.CLIENT, attributes, parent },
      ({ error }) => this.record(error),
    );
    const { span } = this.operation;
    if (!telemetry.content || !span.isRecording()) return;
    span.setAttributes(inputAttributes(request));
    this.output = new OutputCollector();
  }

  readonly next = (chunk: Chunk): void => {
    this.output?.add(chunk);
    switch (chunk.type) {
      case 'metadata':
        this.noteResponse(chunk.metadata);
        break;
      case 'retry':
        this.noteRetry(chunk);
        break;
      case 'retract':
        this.usage = addUsage(this.usage, chunk.usage);
        break;
      case 'finish':
        this.usage = addUsage(this.usage, chunk.usage);
        this.operation.end({ ...finishAttributes(chunk.reason), ...outputAttributes(this.output?.message) });
        break;
      case 'provider':
        break;
      default:
        this.timeToFirstChunk ??= this.operation.seconds;
    }
  };

  readonly error = (thrown: unknown): void => {
    noteRequest(thrown, this.request);
    this.usage = addUsage(this.usage, usageOfError(thrown));
  };

  /** The response was cut off, unless `finish` has ended the operation. */
  readonly complete = (): void => {
    const provider = String(this.attributes['gen_ai.provider.name']);
    this.operation.fail(new StreamInterruptedError(provider, 'The stream completed without a `finish` chunk.'));
  };

  private noteResponse(metadata: Metadata): void {
    const { 'gen_ai.response.id': id, ...response } = responseAttributes(metadata);
    this.attributes = { ...this.attributes, ...response };
    this.operation.span.setAttributes(id === undefined ? response : { ...response, 'gen_ai.response.id': id });
  }

  private noteRetry({ attempt, delay, error }: RetryChunk): void {
    this.operation.span.addEvent('rivulet.retry', {
      'rivulet.retry.attempt': attempt,
      'rivulet.retry.delay': delay,
      'error.type': errorTypeOfJson(error, requestFilter(this.request)),
    });
  }

  private record(error: Attributes): void {
    const { telemetry, attributes, usage, timeToFirstChunk, operation } = this;
    const { conventions } = telemetry;
    const prefix = conventions === 'latest' ? 'gen_ai.client.inference' : 'gen_ai.client.operation';
    operation.span.setAttributes(usageAttributes(usage, conventions));
    recordHistogram(telemetry, `${prefix}.duration`, operation.seconds, { ...attributes, ...error }, operation.context);
    recordTokens(telemetry, usage, attributes, operation.context);
    this.onUsage(usage);
    if (timeToFirstChunk === undefined) return;
    operation.span.setAttribute('gen_ai.response.time_to_first_chunk', timeToFirstChunk);
    recordHistogram(telemetry, `${prefix}.time_to_first_chunk`, timeToFirstChunk, attributes, operation.context);
  }
}
