import { parseJsonOrText } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import { secretsOf, spellings } from '../../protocol/redact.js';
import { redactFrames, redactText } from './redactFrames.js';

/** A `fetch` that records. */
export interface Recorder {
  /** For a model's option `fetch`. */
  readonly fetch: typeof fetch;
  /** What was recorded so far: plain JSON, a copy. */
  recording(): Recording;
}

/** What a recorder can be told. */
export interface RecordOptions {
  /** Makes the requests. Default: the global `fetch`, looked up at each request. */
  readonly fetch?: typeof fetch | undefined;
  /** What must not be recorded beside the keys in the usual headers and parameters, which are found: keys in other places. Default: none. */
  readonly secrets?: readonly string[] | undefined;
}

/** Shorter ones are placeholders (`none`), and are part of many words. */
const shortestSecret = 5;
const recordedHeaders = /^(?:content-type|retry-after(?:-ms)?|[\w-]*request-?id)$/i;

/** An exchange while it goes on. */
interface Exchange extends Omit<RecordedExchange, 'url' | 'body'> {
  url: string;
  body: string;
  status?: number;
  headers?: Record<string, string>;
  readonly frames: string[];
  end: RecordedExchange['end'];
}

/**
 * Records the streamed answers of a model, as they come and without its keys.
 *
 * ```ts
 * const recorder = recordFetch();
 * const model = openai('gpt-5', { fetch: recorder.fetch });
 * await lastValueFrom(model.stream(request));
 * await writeFile('answer.json', JSON.stringify(recorder.recording()));
 * // later, in a spec
 * const server = await serveRecording(JSON.parse(await readFile('answer.json', 'utf8')));
 * ```
 *
 * The answer reaches its reader as it comes, read by read, and a reader that leaves leaves the server. Request headers are not recorded; a key that a
 * request carries (`authorization`, `x-api-key`, `api-key`, `x-goog-api-key`, `?key=`) is replaced by `[key]` wherever its text is, also where reads
 * have cut it.
 *
 * @param options The `fetch` to wrap, and further secrets.
 * @returns The recorder. Its `fetch` rejects as the wrapped one does.
 */
export function recordFetch(options: RecordOptions = {}): Recorder {
  const exchanges: Exchange[] = [];
  const secrets = new Set(options.secrets ?? []);

  const record = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const address = typeof input === 'string' ? input : 'href' in input ? input.href : input.url;
    const request = typeof input === 'object' && 'method' in input ? input : undefined;
    const headers = Object.fromEntries(new Headers(init?.headers ?? request?.headers));
    for (const secret of secretsOf(address, headers)) secrets.add(secret);
    const body = await sentBody(init?.body ?? request?.clone().body);
    const exchange: Exchange = {
      method: init?.method ?? request?.method ?? 'GET',
      url: address,
      body,
      frames: [],
      end: 'open',
    };
    exchanges.push(exchange);
    try {
      const response = await (options.fetch ?? globalThis.fetch)(input, init);
      exchange.status = response.status;
      exchange.headers = Object.fromEntries([...response.headers].filter(([name]) => recordedHeaders.test(name)));
      return watched(response, exchange);
    } catch (thrown) {
      exchange.end = 'broken';
      throw thrown;
    }
  };

  const cleaned = (exchange: Exchange, words: readonly string[]): RecordedExchange => {
    const clean = (text: string) => redactText(text, words);
    const headers =
      exchange.headers &&
      Object.fromEntries(Object.entries(exchange.headers).map(([name, value]) => [name, clean(value)]));
    return {
      ...exchange,
      url: clean(exchange.url),
      body: parseJsonOrText(clean(exchange.body)),
      ...(headers ? { headers } : {}),
      frames: redactFrames(exchange.frames, words),
    };
  };

  return {
    fetch: record,
    recording: () => {
      const words = spellings([...secrets].filter((secret) => secret.length >= shortestSecret));
      return { exchanges: exchanges.map((exchange) => cleaned(exchange, words)) };
    },
  };
}

/** What a request sends, as text. */
const sentBody = async (body: BodyInit | null | undefined): Promise<string> =>
  typeof body === 'string' || !body
    ? (body ?? '')
    : body instanceof ReadableStream
      ? '[stream]'
      : new Response(body).text();

/** The response with a body that notes what is read of it. A character that a read has cut is noted with the next. */
function watched(response: Response, exchange: Exchange): Response {
  const reader = response.body?.getReader();
  if (!reader) {
    exchange.end = 'whole';
    return response;
  }
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const note = (text: string) => text !== '' && exchange.frames.push(text);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          note(done ? decoder.decode() : decoder.decode(value, { stream: true }));
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

/** Streamed answers as they came over the wire, without keys: plain JSON, to be stored in a file and served back by `serveRecording`. */
export interface Recording {
  /** In the order of the requests. */
  readonly exchanges: readonly RecordedExchange[];
}

/** A request and what came of it. */
export interface RecordedExchange {
  readonly method: string;
  /** The URL, `[key]` in the place of a key. */
  readonly url: string;
  /** What was sent: JSON, or the text where it was none. Headers are not recorded. */
  readonly body: JsonValue;
  /** The HTTP status. Absent: there was no answer. */
  readonly status?: number;
  /** The answer's headers that matter to a model: type, request id, when to retry. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The bytes of the body as text, a frame for each read. Together they are the body; a read need not be a whole event. */
  readonly frames: readonly string[];
  /** How the body ended: whole; broken off; left by the reader; not yet. */
  readonly end: 'whole' | 'broken' | 'left' | 'open';
}
