import { take, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { ConfigurationError } from '../../core/errors.js';
import { isRecord } from '../../core/json/json.js';
import { drawnSubscriptions, type DiagramLine } from './line.js';
import { parseDiagram, type Diagram } from './parseDiagram.js';

export { parseDiagram } from './parseDiagram.js';
export type { Diagram } from './parseDiagram.js';
export type { DiagramLine } from './line.js';

/**
 * The streams of a diagram by title. They are Observables of `never`, which every operator accepts. Annotate them where
 * a function needs a type: `({ turn1, tool }: Streams<'turn1' | 'tool', Chunk>) => ...`.
 */
export type Streams<Title extends string = string, T = never> = Readonly<Record<Title, Observable<T>>>;

/** So many events more, and an endless result fails instead of hanging. */
const EXTRA_EVENTS = 100;

type Fields = Readonly<Record<string, unknown>>;

const pick = (error: unknown, fields: readonly string[]): unknown =>
  error instanceof Error || isRecord(error)
    ? Object.fromEntries(fields.map((field) => [field, (error as unknown as Fields)[field]]))
    : error;

interface Message {
  readonly frame: number;
  readonly notification: { readonly kind: string; readonly value?: unknown; readonly error?: unknown };
}

const isMessages = (value: unknown): value is readonly Message[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item) => isRecord(item) && 'frame' in item && 'notification' in item);

const readable = (messages: readonly Message[], fields: readonly string[]): unknown =>
  messages.map(({ frame, notification: { kind, value, error } }) => {
    if (kind === 'C') return { frame, complete: true };
    if (kind === 'E') return { frame, error: pick(error, fields) };
    return isMessages(value) ? { frame, stream: readable(value, fields) } : { frame, value };
  });

const errorOf = (fields: Fields): Error => Object.assign(new Error(), fields);

/** A title that is not drawn would be `undefined` somewhere deep in an operator. */
const rejectUnknownTitles = (streams: Record<string, Observable<unknown>>): Record<string, Observable<unknown>> =>
  new Proxy(streams, {
    get(target, title) {
      if (typeof title === 'symbol' || Object.hasOwn(target, title)) return Reflect.get(target, title) as unknown;
      throw new ConfigurationError(
        'diagram',
        `The diagram has no stream "${title}" above its box.`,
        `Its streams: ${Object.keys(target).join(', ') || 'none'}.`,
      );
    },
  });

const subscriptionOf = (line: DiagramLine): string | undefined =>
  line.subs?.[0] ?? (line.start > 0 ? `${'-'.repeat(line.start)}^` : undefined);

/**
 * Runs a diagram as a test, in virtual time: one frame is one millisecond.
 *
 * The streams above the box are passed to `build`; the stream below it is compared with what `build` returns. A line is
 * cold unless it has `kind = hot`. A cold line must be subscribed in the frame at which it is drawn to begin, and
 * unsubscribed where it ends. `subs = ^--!` overrides this: several subscriptions for a line that is subscribed again
 * (`subs = ^--!, -----^--!`), `none` for a line that is never subscribed. The subscriptions of a hot line are only
 * compared if it has `subs`. Below the output, `subs` is the subscription of the consumer.
 *
 * A `#` of an input emits an `Error` with the fields of `%: # = {...}`; the same fields of the output's error are
 * compared.
 *
 * ```ts
 * const assertEqual = (actual: unknown, expected: unknown) => expect(actual).toEqual(expected);
 * it('doubles', () => runDiagram(text, ({ source }) => source.pipe(map((n) => 2 * n)), assertEqual));
 * ```
 *
 * @param text The diagram, in the syntax of `parseDiagram`.
 * @param build Creates the result from the streams, which are named by their titles (default `source`).
 * @param assertEqual Compares deeply, and throws. Called once for the output and once for the subscriptions of each
 * input.
 * @throws Whatever `parseDiagram`, `build` or `assertEqual` throws.
 */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller annotates its streams with S
export function runDiagram<S extends Readonly<Record<string, Observable<unknown>>> = Streams<'source'> & Streams>(
  text: string,
  build: (streams: S, diagram: Diagram) => Observable<unknown>,
  assertEqual: (actual: unknown, expected: unknown) => void,
): void {
  const diagram = parseDiagram(text);
  const { inputs, output, inners, error } = diagram;
  const expectsError = output.events.some(({ mark }) => mark === '#');
  const fields = expectsError ? Object.keys(output.error ?? error) : ['name', 'message'];
  const inputLogs = new Map<unknown, string>();
  const scheduler = new TestScheduler((actual: unknown, expected: unknown) => {
    const title = inputLogs.get(actual);
    const show = (log: unknown) =>
      title === undefined
        ? { [output.title]: readable(log as readonly Message[], fields) }
        : { [`subscriptions of ${title}`]: log };
    assertEqual(show(actual), show(expected));
  });
  scheduler.run(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const values: Record<string, unknown> = { ...diagram.values };
    for (const [letter, line] of Object.entries(inners))
      values[letter] = cold(line.marbles, diagram.values, errorOf(line.error ?? error));
    const streams = inputs.map((line) => {
      const failure = errorOf(line.error ?? error);
      const stream = line.hot
        ? hot('-'.repeat(line.start) + line.marbles, values, failure)
        : cold(line.marbles, values, failure);
      return { line, stream };
    });
    const result = build(
      rejectUnknownTitles(Object.fromEntries(streams.map(({ line, stream }) => [line.title, stream]))) as unknown as S,
      diagram,
    );
    const limit = output.events.length + EXTRA_EVENTS;
    expectObservable(result.pipe(take(limit)), subscriptionOf(output)).toBe(
      '-'.repeat(output.start) + output.marbles,
      values,
      output.error ?? error,
    );
    for (const { line, stream } of streams) {
      if (line.hot && !line.subs) continue;
      inputLogs.set(stream.subscriptions, line.title);
      expectSubscriptions(stream.subscriptions).toBe([...drawnSubscriptions(line)]);
    }
  });
}
