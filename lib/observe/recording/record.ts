import { defer, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import { createOperator } from '../../core/createOperator.js';
import { deriveModel } from '../../core/deriveModel.js';
import { omit, type JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { Model, ModelRequest } from '../../core/model.js';
import { openResponse } from '../../core/response.js';
import { withToolNames } from '../../core/toolNames.js';
import type { RecordedOutcome, RequestEntry } from './entries.js';
import { RecordingOutput, type RecordingOptions, type RecordingSink } from './recordingOutput.js';
import { RunRecorder } from './runRecorder.js';
import { wholeTime } from './wholeTime.js';

/**
 * A model whose requests and chunks are written to a sink, with their times.
 *
 * <span class="informal">`tap` into a file, from which `replay` makes a model again.</span>
 *
 * Each line is one entry as JSON. It is written when it happens, except for deltas, which are written together: at the
 * next other entry, and at the latest after a second. API keys and other secrets are replaced by `[key]` (see
 * `RecordingOptions`), also one that is split over several deltas.
 *
 * ```ts
 * const file = createWriteStream('answers.jsonl');
 * file.on('error', (error) => console.warn(error)); // a full disk ends the recording, not the process
 * const model = record(openai('gpt-6.1-terra'), (line) => file.write(`${line}\n`));
 * ```
 *
 * @param model The model.
 * @param sink Receives the lines. If it throws, the error is reported as unhandled, and the recording ends; the run
 * does not.
 * @param options `content` (default: true), `secrets` (default: none), `maxLength` (default: 32 Mi characters per
 * request), `maxLineLength` (default: 1 Mi characters).
 * @returns A model with the provider, the name and the capabilities of `model`.
 * @throws ConfigurationError `options` for a negative limit.
 */
export function record(model: Model, sink: RecordingSink, options: RecordingOptions = {}): Model {
  const output = new RecordingOutput(sink, options);
  let requests: RequestLog | undefined;
  const start = () => {
    const run = output.nextRun();
    output.write({ type: 'start', run, at: wholeTime(), kind: 'model' });
    return new RequestLog(() => new RunRecorder(output, run, 'requestEnd'));
  };
  return deriveModel(model, (request) => defer(() => (requests ??= start()).stream(model, request)));
}

export class RequestLog {
  private requests = 0;
  private previous: ModelRequest | undefined;

  constructor(private readonly recorder: () => RunRecorder) {}

  stream(model: Model, request: ModelRequest): Observable<Chunk> {
    return defer(() => {
      const number = ++this.requests;
      const recorder = this.recorder();
      recorder.write(this.entryOf(model, request, recorder, number));
      return openResponse(withToolNames(model), request).pipe(
        recordStream({
          before: (chunk) => recorder.chunk(number, chunk),
          after: () => recorder.settle(),
          end: (outcome, error) => recorder.end(outcome, error, number),
        }),
      );
    });
  }

  private entryOf(
    { provider, name }: Model,
    request: ModelRequest,
    recorder: RunRecorder,
    number: number,
  ): RequestEntry {
    const { messages, tools } = request;
    const earlier = sharedMessages(this.previous?.messages ?? [], messages);
    const settings = omit(request as unknown as JsonObject, 'messages', 'tools', 'stop');
    const isSameTools = sameItems(tools ?? [], this.previous?.tools ?? []);
    this.previous = request;
    return {
      type: 'request',
      run: recorder.run,
      request: number,
      at: recorder.now(),
      model: { provider, name },
      earlier,
      messages: messages.slice(earlier),
      ...(isSameTools ? {} : { tools: tools ?? [] }),
      ...(Object.keys(settings).length > 0 ? { settings } : {}),
    };
  }
}

function sharedMessages(before: readonly Message[], after: readonly Message[]): number {
  const first = after.findIndex((message, index) => message !== before[index]);
  return first < 0 ? after.length : first;
}

const sameItems = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

interface StreamObserver<T> {
  readonly before: (value: T) => void;
  readonly after?: () => void;
  readonly end: (outcome: RecordedOutcome, error?: unknown) => void;
}

export const recordStream = <T>({ before, after, end }: StreamObserver<T>): MonoTypeOperatorFunction<T> =>
  createOperator<T, T>((out) => {
    let hasEnded = false;
    const endOnce: typeof end = (...how) => {
      if (!hasEnded) end(...how);
      hasEnded = true;
    };
    out.add(() => endOnce('unsubscribed'));
    return {
      next(value) {
        before(value);
        out.next(value);
        after?.();
      },
      error(thrown) {
        endOnce('failed', thrown);
        out.error(thrown);
      },
      complete() {
        endOnce('completed');
        out.complete();
      },
    };
  });
