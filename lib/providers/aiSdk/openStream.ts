import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { Observable } from 'rxjs';
import { isRecord } from '../../core/json/json.js';
import { cancelStream, readStream } from '../../protocol/post.js';
import { callError, noStream, streamError } from './errors.js';

export type SdkModel = LanguageModelV4 | LanguageModelV3;

export type SdkCall = LanguageModelV4CallOptions | LanguageModelV3CallOptions;

export type SdkPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart;

export type SdkPartOf<Type extends SdkPart['type']> = Extract<SdkPart, { readonly type: Type }>;

interface StreamingModel {
  doStream(call: SdkCall): PromiseLike<unknown>;
}

/** Reads the next part only after the last one is emitted. Unsubscribing cancels the stream and aborts its signal. */
export function openStream(provider: string, model: SdkModel, call: SdkCall): Observable<SdkPart> {
  return new Observable<SdkPart>((out) => {
    if (out.closed) return; // RxJS calls this function even if the subscriber is closed, and a request is billed.
    const controller = new AbortController();
    let isOver = false;
    out.add(() => isOver || controller.abort()); // a call that has failed must not be aborted: see `post`
    const onEnd = () => (isOver = true);
    const callModel = () => (model as StreamingModel).doStream({ ...call, abortSignal: controller.signal });
    // A model may throw synchronously, or return something that only resembles a promise.
    new Promise<unknown>((resolve) => resolve(callModel())).then(readableStream).then(
      (stream) => {
        if (!stream) out.error(noStream(provider));
        // Aborting the signal is not enough: a model may ignore it.
        else if (out.closed) cancelStream(stream);
        else out.add(readStream(stream, (thrown) => streamError(provider, thrown), onEnd).subscribe(out));
      },
      (thrown: unknown) => {
        onEnd();
        out.add(callError(provider, thrown).subscribe(out));
      },
    );
  });
}

function readableStream(response: unknown): ReadableStream<SdkPart> | undefined {
  const { stream } = isRecord(response) ? response : {};
  const { locked, getReader, cancel } = isRecord(stream) ? (stream as Partial<ReadableStream<SdkPart>>) : {};
  const isReadable = typeof getReader === 'function' && typeof cancel === 'function' && !locked;
  return isReadable ? (stream as ReadableStream<SdkPart>) : undefined;
}
