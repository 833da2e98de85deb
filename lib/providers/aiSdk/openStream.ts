import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { Observable } from 'rxjs';
import { cancelStream, readStream } from '../../protocol/post.js';
import { callFailure, readFailure } from './failures.js';

/** A model of either version. */
export type SdkModel = LanguageModelV4 | LanguageModelV3;

/** A call of either version. */
export type SdkCall = LanguageModelV4CallOptions | LanguageModelV3CallOptions;

/** A part of either version. */
export type SdkPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart;

interface Streaming {
  doStream(call: SdkCall): PromiseLike<{ readonly stream: ReadableStream<SdkPart> }>;
}

/**
 * Calls a model and emits its parts as they come, each before the next is read. A stream that is left early is cancelled and its signal aborted.
 *
 * @param provider The model's provider, for errors.
 * @param model The model.
 * @param call What it is asked.
 * @returns The parts. Errors as `callFailure` and `readFailure` say.
 */
export function openStream(provider: string, model: SdkModel, call: SdkCall): Observable<SdkPart> {
  return new Observable<SdkPart>((out) => {
    if (out.closed) return; // RxJS subscribes for a closed reader too, and a request is billed.
    const controller = new AbortController();
    let read = false;
    out.add(() => read || controller.abort());
    const ended = () => (read = true);
    const begin = () => (model as Streaming).doStream({ ...call, abortSignal: controller.signal });
    // A model may throw at once, or give something that only looks like a promise.
    new Promise<{ readonly stream: ReadableStream<SdkPart> }>((resolve) => resolve(begin())).then(
      ({ stream }) => {
        // The signal alone is not enough: a model may ignore it.
        if (out.closed) cancelStream(stream);
        else out.add(readStream(stream, (thrown) => readFailure(provider, thrown), ended).subscribe(out));
      },
      (thrown: unknown) => out.add(callFailure(provider, thrown).subscribe(out)),
    );
  });
}
