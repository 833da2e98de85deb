import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Context, Span, SpanKind } from '@opentelemetry/api';
import { asyncScheduler, defer, finalize, Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { createOperator } from '../../core/createOperator.js';
import { nameText } from './attributes.js';
import { errorMessage, errorType } from './errors.js';
import type { Telemetry } from './telemetry.js';

export interface OperationStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly parent: Context;
}

export type OnEnd = (end: { readonly seconds: number; readonly error: Attributes; readonly context: Context }) => void;

export class Operation {
  readonly span: Span;
  /** Its span is the parent of the spans that are started there. */
  readonly context: Context;
  private readonly startTime = asyncScheduler.now();
  private isEnded = false;

  constructor(
    private readonly telemetry: Telemetry,
    { name, kind, attributes, parent }: OperationStart,
    private readonly onEnd: OnEnd = () => undefined,
  ) {
    this.span = telemetry.tracer.startSpan(nameText(name), { kind, attributes }, parent);
    this.context = trace.setSpan(parent, this.span);
  }

  get seconds(): number {
    return (asyncScheduler.now() - this.startTime) / 1000;
  }

  end(attributes: Attributes = {}): void {
    this.finish(attributes);
  }

  fail(thrown: unknown, type = errorType(thrown)): void {
    const message = errorMessage(thrown, this.telemetry.content);
    this.finish({ 'error.type': type }, { code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
  }

  /** Not an error, so the status of the span remains unset; `error.type` marks it in the metrics. */
  cancel(): void {
    this.finish({ 'error.type': 'cancelled' });
  }

  private finish(attributes: Attributes, status?: Parameters<Span['setStatus']>[0]): void {
    if (this.isEnded) return;
    this.isEnded = true;
    const type = attributes['error.type'];
    this.span.setAttributes(attributes);
    if (status) this.span.setStatus(status);
    this.onEnd({
      seconds: this.seconds,
      error: type === undefined ? {} : { 'error.type': type },
      context: this.context,
    });
    this.span.end();
  }
}

export interface Observed<T> {
  readonly next?: (value: T) => void;
  readonly error?: (thrown: unknown) => void;
  readonly complete?: () => void;
  /** Called when the source has been torn down. Only for `runOperation`. */
  readonly teardown?: () => void;
}

/** Notifications are emitted in the subscriber's context: the source's span is not the parent of its operations. */
export function inContext<T>(
  inner: Context,
  observed: Omit<Observed<T>, 'teardown'> = {},
): MonoTypeOperatorFunction<T> {
  return (source) =>
    defer(() => {
      const outer = context.active();
      const subscribed = new Observable<T>((out) => {
        // eslint-disable-next-line no-restricted-syntax -- the subscriber itself is passed on
        context.with(inner, () => source.subscribe(out));
      });
      return subscribed.pipe(
        createOperator<T, T>((out) => ({
          next(value) {
            observed.next?.(value);
            context.with(outer, () => out.next(value));
          },
          error(thrown) {
            observed.error?.(thrown);
            context.with(outer, () => out.error(thrown));
          },
          complete() {
            observed.complete?.();
            context.with(outer, () => out.complete());
          },
        })),
      );
    });
}

/** `observed.complete` has to end the operation: one that is still open at the end was cancelled. */
export function runOperation<T>(operation: Operation, observed: Observed<T>): MonoTypeOperatorFunction<T> {
  const observedWithFailure: Observed<T> = {
    ...observed,
    error(thrown) {
      observed.error?.(thrown);
      operation.fail(thrown);
    },
  };
  return (source) =>
    source.pipe(
      inContext(operation.context, observedWithFailure),
      finalize(() => {
        observed.teardown?.();
        operation.cancel();
      }),
    );
}
