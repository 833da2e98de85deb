import { asyncScheduler } from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import { ProtocolError, StreamInterruptedError } from '../core/errors.js';
import { isJsonObject, tryParseJson } from '../core/json/json.js';
import type { JsonObject } from '../core/json/json.js';
import { excerpt } from './errorDetails.js';
import { ndjson } from './ndjson.js';
import { redactThrown } from './redact.js';
import { sse } from './sse.js';
import type { FramingOptions } from './sse.js';
import { createTemplateParser } from './templateParser.js';
import type { Frame, Wire } from './wire.js';

/** How an answer is read. */
export interface DecodeOptions extends FramingOptions {
  /** What must appear in no error. Default: nothing. */
  readonly secrets?: readonly string[];
}

const framings = { sse: sse, ndjson } as const;

/**
 * Reads an answer's bytes: cuts them into frames, reads these with a provider's decoder, and holds it to the contract of a model: exactly one `finish`,
 * last, then completion; otherwise an error.
 *
 * After the terminal mark (`[DONE]`, or the decoder's `'end'`) the finish is emitted at once; what follows, an error included, is ignored.
 * All that was emitted before an error stays emitted.
 *
 * A frame is a JSON object; a list of objects is read as one frame each (Google wraps errors so).
 *
 * @param wire The dialect.
 * @param options The provider's name, the largest event, and what no error may show: a provider may repeat the key within its stream.
 * @returns Chunks. Errors with those of the framing (`serverSentEvents`, `ndjson`), with ProtocolError `frame`, with StreamInterruptedError when the
 * stream ends too early, and with what the decoder throws.
 */
export function decodeFrames(wire: Wire, options: DecodeOptions): OperatorFunction<Uint8Array, Chunk> {
  const { provider, secrets = [] } = options;
  return createOperator((out) => {
    let finished = false;
    const emit = (chunk: Chunk) => {
      if (finished) return;
      finished = chunk.type === 'finish';
      out.next(chunk);
      if (finished) out.add(asyncScheduler.schedule(() => out.complete(), drainTimeout));
    };
    const decoder = wire.decode(emit);
    const parse = createTemplateParser();
    const end = (terminal: boolean) => {
      decoder.end(terminal);
      if (!terminal && !finished) throw cutShort(provider);
      emit({ type: 'finish', reason: 'unspecified' }); // only where the decoder gave none
    };
    const read = (json: JsonObject, event: string | undefined) => {
      if (!finished && decoder.next(json, event) === 'end') end(true);
    };
    const readFrame = ({ data, event, unterminated }: Frame) => {
      if (finished || out.closed) return; // one read holds many frames
      // Nearly every frame begins with a brace: asked first, it saves a `trim` for each delta.
      if (!data.startsWith('{') && data.trim() === '[DONE]') {
        end(true);
        return;
      }
      const json = tryParseJson(data, parse);
      if (isJsonObject(json)) read(json, event);
      else {
        const objects = Array.isArray(json) ? (json as unknown[]).filter(isJsonObject) : [];
        for (const one of objects) read(one, event);
        if (objects.length === 0 && !unterminated) throw notJson(provider, data); // one that the body's end has cut: the end will tell
      }
    };
    const frames = framings[wire.framing](options, readFrame);
    const unlessFinished = (work: () => void) => {
      try {
        if (!finished) work();
      } catch (thrown) {
        if (!finished) throw redactThrown(thrown, secrets, provider);
      }
    };
    return {
      next: (bytes) => unlessFinished(() => frames.push(bytes)),
      error: (error) => {
        if (finished) out.complete();
        else out.error(error);
      },
      complete: () => {
        unlessFinished(() => frames.end());
        unlessFinished(() => end(false));
        out.complete();
      },
    };
  });
}

function cutShort(provider: string): StreamInterruptedError {
  return new StreamInterruptedError(
    provider,
    `The answer of ${provider} ended before the model was done. Send the request again for a whole answer.`,
  );
}

function notJson(provider: string, data: string): ProtocolError {
  return new ProtocolError(
    provider,
    'frame',
    `${provider} sent an event that is no JSON object: "${excerpt(data)}". Check baseUrl, and any proxy between.`,
    data.slice(0, 1000),
  );
}

/**
 * How long a stream may stay open after the answer's terminal mark, in milliseconds. It mostly ends with the next read, and one read to its end
 * leaves the connection for the next request, where an aborted one is closed, and lets the streams that it passes through finish their work; but
 * some never end.
 */
export const drainTimeout = 1000;
