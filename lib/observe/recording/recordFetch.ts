import { parseJsonOrText } from '../../core/json/json.js';
import { requireNumber } from '../../core/options.js';
import { replaceRanges, secretsOf, spellings } from '../../protocol/secrets.js';
import { withBody } from '../../protocol/withBody.js';
import type { RecordedExchange } from './recordedExchange.js';
import { RecordingOutput, type RecordingSink } from './recordingOutput.js';
import { redactFrames } from './redactFrames.js';
import { secretsIn } from './redactTexts.js';
import { wholeTime } from './wholeTime.js';

/**
 * Streamed responses as they were on the wire, with keys replaced by `[key]`: plain JSON, to be stored in a file and
 * served by `serveRecording`.
 */
export interface Recording {
  /** In the order of the requests. */
  readonly exchanges: readonly RecordedExchange[];
}

/** A `fetch` that records its exchanges. */
export interface Recorder {
  /** Pass it as the `fetch` option of a model. */
  readonly fetch: typeof fetch;
  /** A copy of the recording so far, as plain JSON. */
  recording(): Recording;
}

/** The options of `recordFetch`. */
export interface RecordOptions {
  /** Makes the requests. Default: the global `fetch`, looked up at each request. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Further texts that must not be recorded. Keys in the usual headers and parameters are found automatically. Default:
   * none.
   */
  readonly secrets?: readonly string[] | undefined;
  /**
   * Receives each exchange when it has ended, as a line of a recording (see `recordRun`, which can write to the same
   * sink). `recording()` then contains only the exchanges that have not ended. Default: none; all exchanges are kept.
   */
  readonly sink?: RecordingSink | undefined;
  /**
   * Whether the sink receives bodies and frames. Otherwise they become dots of the same length, and URLs have no query.
   * Pass the value that `recordRun` has. Default: true.
   */
  readonly content?: boolean | undefined;
  /**
   * The longest response that is kept until its end, in characters. The frames beyond it are not recorded, and the
   * exchange says how many they were (`dropped`). Default: 32 Mi.
   */
  readonly maxLength?: number | undefined;
}

/** Shorter secrets are probably placeholders (`none`) and would match ordinary words. */
const MIN_SECRET_LENGTH = 5;
const recordedHeaders = /^(?:content-type|retry-after(?:-ms)?|[\w-]*request-?id)$/i;

interface OpenExchange extends Omit<RecordedExchange, 'url' | 'body'> {
  readonly url: string;
  readonly body: string;
  status?: number;
  headers?: Record<string, string>;
  readonly frames: string[];
  dropped?: number;
  end: RecordedExchange['end'];
}

interface Times {
  readonly secrets: readonly string[];
  readonly at: number;
  readonly after: number[];
  length: number;
}

/**
 * Records the requests and responses of a model. API keys are replaced by `[key]`.
 *
 * ```ts
 * const recorder = recordFetch();
 * const model = openai('gpt-6.1-terra', { fetch: recorder.fetch });
 * await lastValueFrom(model.stream(request));
 * await writeFile('answer.json', JSON.stringify(recorder.recording()));
 * // later, in a spec
 * const server = await serveRecording(JSON.parse(await readFile('answer.json', 'utf8')));
 * ```
 *
 * The consumer receives each chunk of the body unchanged; cancelling the body also cancels the request. Request headers
 * are not recorded. A key in a request (in a header such as `authorization` or `x-api-key`, or in `?key=`) is replaced
 * by `[key]` wherever it occurs, even if it is split between two reads or two deltas.
 *
 * @param options The `fetch` to wrap, further secrets, a sink, `content` (default: true), `maxLength` (default: 32 Mi
 * characters per response).
 * @returns The recorder. Its `fetch` rejects if the wrapped one does.
 * @throws ConfigurationError `options` for a negative limit.
 */
export function recordFetch(options: RecordOptions = {}): Recorder {
  const exchanges = new Map<OpenExchange, Times>();
  const { sink, content, maxLength = 2 ** 25 } = options;
  requireNumber('maxLength', maxLength, 0);
  // The frames of an exchange are one line, whose length the limit bounds.
  const output = sink && new RecordingOutput(sink, { content, maxLineLength: Infinity });

  const handlers: BodyHandlers = {
    frame(exchange, text) {
      const times = exchanges.get(exchange);
      if (!times) return;
      times.length += text.length;
      if (times.length > maxLength) {
        exchange.dropped = (exchange.dropped ?? 0) + 1;
        return;
      }
      exchange.frames.push(text);
      times.after.push(Math.max(times.after.at(-1) ?? 0, wholeTime() - times.at));
    },
    end: (exchange, reason) => end(exchange, reason),
  };
  const end = (exchange: OpenExchange, reason: RecordedExchange['end']) => {
    exchange.end = reason;
    const times = exchanges.get(exchange);
    if (!output || !times) return;
    exchanges.delete(exchange);
    const { at, after } = times;
    output.write({ type: 'exchange', exchange: redact(exchange, times), at, after });
  };

  const record = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = typeof input === 'string' ? input : 'href' in input ? input.href : input.url;
    const request = typeof input === 'object' && 'method' in input ? input : undefined;
    const headers = Object.fromEntries(new Headers(init?.headers ?? request?.headers));
    const body = request && !init?.body ? await request.clone().text() : await bodyText(init?.body);
    const exchange: OpenExchange = {
      method: init?.method ?? request?.method ?? 'GET',
      url,
      body,
      frames: [],
      end: 'open',
    };
    exchanges.set(exchange, { at: wholeTime(), after: [], length: 0, secrets: secretsOf(url, headers) });
    try {
      const response = await (options.fetch ?? globalThis.fetch)(input, init);
      exchange.status = response.status;
      exchange.headers = Object.fromEntries([...response.headers].filter(([name]) => recordedHeaders.test(name)));
      return recordBody(response, exchange, handlers);
    } catch (thrown) {
      end(exchange, 'broken');
      throw thrown;
    }
  };

  const redact = (exchange: OpenExchange, { secrets }: Times): RecordedExchange => {
    const all = [...(options.secrets ?? []), ...secrets];
    const known = spellings(all.filter((secret) => secret.length >= MIN_SECRET_LENGTH));
    const clean = (text: string) => replaceRanges(text, secretsIn(text, known));
    const headers =
      exchange.headers &&
      Object.fromEntries(Object.entries(exchange.headers).map(([name, value]) => [name, clean(value)]));
    return {
      ...exchange,
      url: clean(exchange.url),
      body: parseJsonOrText(clean(exchange.body)),
      ...(headers ? { headers } : {}),
      frames: redactFrames(exchange.frames, known),
    };
  };

  return {
    fetch: record,
    recording: () => ({ exchanges: [...exchanges].map(([exchange, times]) => redact(exchange, times)) }),
  };
}

/** A stream can be read only once, by the request: it is not recorded. */
async function bodyText(body: BodyInit | null | undefined): Promise<string> {
  if (!body) return '';
  if (typeof body === 'string') return body;
  return body instanceof ReadableStream ? '[stream]' : new Response(body).text();
}

interface BodyHandlers {
  readonly frame: (exchange: OpenExchange, text: string) => void;
  readonly end: (exchange: OpenExchange, reason: RecordedExchange['end']) => void;
}

/** A character that is split between two reads is recorded with the second one. */
function recordBody(response: Response, exchange: OpenExchange, { frame, end }: BodyHandlers): Response {
  const reader = response.body?.getReader();
  if (!reader) {
    end(exchange, 'whole');
    return response;
  }
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const addFrame = (text: string) => {
    if (text !== '') frame(exchange, text);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          addFrame(done ? decoder.decode() : decoder.decode(value, { stream: true }));
          if (!done) {
            controller.enqueue(value);
            return;
          }
          end(exchange, 'whole');
          controller.close();
        } catch (thrown) {
          end(exchange, 'broken');
          controller.error(thrown);
        }
      },
      cancel(reason) {
        end(exchange, 'left');
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return withBody(response, body);
}
