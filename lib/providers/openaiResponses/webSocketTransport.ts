import { catchError, concatMap, defer, EMPTY, ignoreElements, of, ReplaySubject, take, takeUntil, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk } from '../../core/chunk.js';
import { deriveModel } from '../../core/deriveModel.js';
import { nonEmptyString, objectOrEmpty, parseJsonOrText } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { Model } from '../../core/model.js';
import { declareUnlimited } from '../../protocol/idleTimeout.js';
import { encodeInput } from './messages.js';
import { steeringContent } from './steering.js';
import { Connection, type Send, type WebSocketLike } from './webSocketConnection.js';
import { requireNumber } from '../../core/options.js';

/** A class of WebSockets that sends headers when it connects. */
export type WebSocketClass = new (
  url: string,
  options: { readonly headers: Readonly<Record<string, string>> },
) => WebSocketLike;

/** Options of `webSocketTransport`. */
export interface WebSocketTransportOptions {
  /** How long a connection without a request is kept, in milliseconds. Default: 60000. */
  readonly idle?: number | undefined;
  /** Sends all other requests: those of `background` responses. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * The largest number of characters (UTF-16 units) in an event. A longer one is not parsed, and fails the response
   * with ProtocolError `event_too_large`, as over HTTP. To accept it, raise the limit here and in the model. Default:
   * 16 Mi.
   */
  readonly maxEventLength?: number | undefined;
}

/** A transport of the Responses API, for the option `fetch` of `openai`. */
export interface WebSocketTransport {
  /** Sends a request over a WebSocket, and returns its events as the body of a response. */
  readonly fetch: typeof fetch;
  /**
   * Sends prompts while a response is received, for the option `whenPrompted` of a run. The model ends the response
   * after the item that it writes, and the next turn is the answer to the prompts: the server begins it by itself.
   *
   * GPT-6 and newer models can do so. A response of another one goes on to its end, and the prompts are part of the
   * next request. The model has to continue stored responses (`session: true`): a prompt during a response that is not
   * stored fails the run with ConfigurationError `options`.
   */
  readonly steer: (model: Model, prompts: Observable<readonly Message[]>) => Model;
  /** Closes all connections. A response that is being received fails. */
  close(): void;
}

/**
 * Sends the requests of `openai` over WebSockets that stay open between the turns of a run.
 *
 * A connection has one response at a time: concurrent requests open several. The next turn prefers the connection that
 * has its previous response. Errors, retries and timeouts are those of HTTP: a connection that breaks is a request
 * that was interrupted, and an error that the server sends first has its status. Unsubscribing closes the connection,
 * which is the only way to end a response; so does an error. A class with `terminate` (`ws`, Bun) closes it at once;
 * the one of the platform first sends the rest of the request, so a model may be asked after a stop. Late events of
 * another response are ignored. If a server begins a response with the id of an earlier one, and no other one within a
 * second, nobody knows whose it is: the request fails with an interruption, which is retried, and each later one to
 * that server has a connection of its own. The first response of a connection is read as over HTTP. If it lacks
 * `response.created`, or announces not all of its items, the connection is then closed; so it is after text without
 * the id of an item. A later response has to announce its items: other ones are ignored, and if the end does not
 * contain the output either, the request fails with an interruption. A request without any answer ends after 300 s, or
 * after `timeout.first`: there is no proxy or runtime that ends it.
 *
 * ```ts
 * import WebSocket from 'ws'; // or the global one of Node 22, Bun or Deno
 *
 * const sockets = webSocketTransport(WebSocket);
 * const model = openai('gpt-6.1-terra', { fetch: sockets.fetch });
 * ```
 *
 * Source: OpenAI's guide "WebSocket Mode", and the types of its SDK (7.57).
 *
 * @param webSocket The class. Browsers cannot use it, since theirs sends no key.
 * @param options `idle` in milliseconds (default: 60000), `maxEventLength`, `fetch` for all other requests.
 * @returns The transport. Call `close` before a process ends: open connections keep it alive.
 */
export function webSocketTransport(
  webSocket: WebSocketClass,
  { idle = 60_000, fetch: fetchOther = globalThis.fetch, maxEventLength = 16_777_216 }: WebSocketTransportOptions = {},
): WebSocketTransport {
  requireNumber('idle', idle, 0);
  requireNumber('maxEventLength', maxEventLength, 1);
  const connections = new Set<Connection>();
  /** The servers whose responses have the same id: each has a connection of its own. */
  const repeating = new Set<string>();

  const senderOf = (address: string, headers: Readonly<Record<string, string>>): Send => {
    const key = JSON.stringify([address, headers]);
    const connect = (): Connection => {
      const created = new Connection(new webSocket(address.replace(/^http/, 'ws'), { headers }), {
        ...{ key, idle: repeating.has(key) ? 0 : idle, maxEventLength, sendElsewhere: send },
        onRepeatedId: () => repeating.add(key),
        onClose: () => connections.delete(created),
      });
      connections.add(created);
      return created;
    };
    const send: Send = (body, signal) =>
      // The class may throw.
      new Promise((resolve) => {
        const previous = body['previous_response_id'];
        const isUsable = (one: Connection) => one.key === key && !repeating.has(key) && one.isFreeFor(previous);
        const free = [...connections].filter(isUsable);
        const connection = free.find((one) => one.has(previous)) ?? free[0] ?? connect();
        resolve(connection.request(body, signal));
      });
    return send;
  };

  return {
    fetch: declareUnlimited((input, init) => {
      const body = init?.method === 'POST' ? requestBody(init.body) : undefined;
      if (!body) return fetchOther(input, init);
      const headers = Object.fromEntries(new Headers(init?.headers));
      const { accept: _, 'content-type': __, ...sent } = headers;
      return senderOf(addressOf(input), sent)(body, init?.signal ?? undefined);
    }),
    steer: (model, prompts) =>
      steeredModel(model, prompts, (response, content) => {
        const [connection, other] = [...connections].filter((one) => one.receives(response));
        if (!other) connection?.steer(response, content); // two servers may use the same id
      }),
    close: () => {
      for (const connection of connections) connection.close();
    },
  };
}

const steeredModel = (
  model: Model,
  prompts: Observable<readonly Message[]>,
  send: (response: string, content: readonly JsonValue[]) => void,
): Model =>
  deriveModel(model, (request) =>
    defer(() => {
      const responses = new ReplaySubject<string>(1);
      const sending = prompts.pipe(
        concatMap((messages) =>
          defer(() => of(steeringContent(encodeInput(messages, { stored: true })))).pipe(
            catchError(() => EMPTY), // the next request contains the same messages, and fails for the same reason
          ),
        ),
        concatMap((content) =>
          content
            ? responses.pipe(
                take(1),
                tap((response) => send(response, content)),
              )
            : EMPTY,
        ),
      );
      const announce = (chunk: Chunk) => {
        const response = chunk.type === 'metadata' ? nonEmptyString(chunk.metadata['responseId']) : undefined;
        if (response !== undefined) responses.next(response);
      };
      // Its errors end the stream, its end does not.
      return model.stream(request).pipe(tap(announce), takeUntil(sending.pipe(ignoreElements())));
    }),
  );

const addressOf = (input: string | URL | Request): string => (input instanceof Request ? input.url : input.toString());

function requestBody(body: unknown): JsonObject | undefined {
  const { stream, background, ...fields } = objectOrEmpty(typeof body === 'string' ? parseJsonOrText(body) : undefined);
  return stream === true && background !== true ? fields : undefined;
}
