import { parseJsonOrText } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import { findSecrets, replaceRanges, secretsOf, spellings } from '../../protocol/secrets.js';
import { redactFrames } from './redactFrames.js';

/**
 * Streamed responses as they were on the wire, without keys: plain JSON, to be stored in a file and served by
 * `serveRecording`.
 */
export interface Recording {
  /** In the order of the requests. */
  readonly exchanges: readonly RecordedExchange[];
}

/** A request and its response. */
export interface RecordedExchange {
  readonly method: string;
  /** The URL, with `[key]` instead of a key. */
  readonly url: string;
  /** The body of the request: JSON, or the text if it was not JSON. Headers are not recorded. */
  readonly body: JsonValue;
  /** The HTTP status. Absent if there was no response. */
  readonly status?: number;
  /** The headers of the response that matter to a model: content type, request id, when to retry. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as text, one string per network read. A read may hold several events, or a part of one. */
  readonly frames: readonly string[];
  /**
   * How the body ended.
   * - `whole`: it was read completely.
   * - `broken`: the connection broke.
   * - `left`: the consumer cancelled it.
   * - `open`: it has not ended yet.
   */
  readonly end: 'whole' | 'broken' | 'left' | 'open';
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
   * Further texts that must not be recorded. Keys in the usual headers and parameters are found automatically.
   * Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
}

/** Shorter secrets are probably placeholders (`none`) and would match ordinary words. */
const MIN_SECRET_LENGTH = 5;
const recordedHeaders = /^(?:content-type|retry-after(?:-ms)?|[\w-]*request-?id)$/i;

/** An exchange in progress. */
interface Exchange extends Omit<RecordedExchange, 'url' | 'body'> {
  url: string;
  body: string;
  status?: number;
  headers?: Record<string, string>;
  readonly frames: string[];
  end: RecordedExchange['end'];
}

/**
 * Records the requests and responses of a model, with keys removed.
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
 * @param options The `fetch` to wrap, and further secrets.
 * @returns The recorder. Its `fetch` rejects if the wrapped one does.
 */
export function recordFetch(options: RecordOptions = {}): Recorder {
  const exchanges: Exchange[] = [];
  const secrets = new Set(options.secrets ?? []);

  const record = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = typeof input === 'string' ? input : 'href' in input ? input.href : input.url;
    const request = typeof input === 'object' && 'method' in input ? input : undefined;
    const headers = Object.fromEntries(new Headers(init?.headers ?? request?.headers));
    for (const secret of secretsOf(url, headers)) secrets.add(secret);
    const body = await bodyText(init?.body ?? request?.clone().body);
    const exchange: Exchange = {
      method: init?.method ?? request?.method ?? 'GET',
      url,
      body,
      frames: [],
      end: 'open',
    };
    exchanges.push(exchange);
    try {
      const response = await (options.fetch ?? globalThis.fetch)(input, init);
      exchange.status = response.status;
      exchange.headers = Object.fromEntries([...response.headers].filter(([name]) => recordedHeaders.test(name)));
      return recordBody(response, exchange);
    } catch (thrown) {
      exchange.end = 'broken';
      throw thrown;
    }
  };

  const redact = (exchange: Exchange, secretSpellings: readonly string[]): RecordedExchange => {
    const clean = (text: string) => replaceRanges(text, findSecrets(text, secretSpellings, 'recording'));
    const headers =
      exchange.headers &&
      Object.fromEntries(Object.entries(exchange.headers).map(([name, value]) => [name, clean(value)]));
    return {
      ...exchange,
      url: clean(exchange.url),
      body: parseJsonOrText(clean(exchange.body)),
      ...(headers ? { headers } : {}),
      frames: redactFrames(exchange.frames, secretSpellings),
    };
  };

  return {
    fetch: record,
    recording: () => {
      const secretSpellings = spellings([...secrets].filter((secret) => secret.length >= MIN_SECRET_LENGTH));
      return { exchanges: exchanges.map((exchange) => redact(exchange, secretSpellings)) };
    },
  };
}

/** The body of a request as text. */
const bodyText = async (body: BodyInit | null | undefined): Promise<string> =>
  typeof body === 'string' || !body
    ? (body ?? '')
    : body instanceof ReadableStream
      ? '[stream]'
      : new Response(body).text();

/**
 * Wraps a response so that what is read from its body is recorded. A character that is split between two reads is
 * recorded with the second one.
 */
function recordBody(response: Response, exchange: Exchange): Response {
  const reader = response.body?.getReader();
  if (!reader) {
    exchange.end = 'whole';
    return response;
  }
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const addFrame = (text: string) => text !== '' && exchange.frames.push(text);
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
          exchange.end = 'whole';
          controller.close();
        } catch (thrown) {
          exchange.end = 'broken';
          controller.error(thrown);
        }
      },
      cancel(reason) {
        exchange.end = 'left';
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
