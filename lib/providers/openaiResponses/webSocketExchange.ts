import { nonEmptyString, objectOrEmpty, parseJsonOrText, isJsonObject } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { isKeepAlive } from '../../protocol/decodeFrames.js';
import { isErrorEvent } from './finish.js';

/** What comes after its end or failure is ignored. */
export interface Exchange {
  readonly hasBegun: boolean;
  next(text: string, event: JsonObject): void;
  end(): void;
  fail(reason: Error): void;
}

export function createExchange(
  resolve: (response: Response) => void,
  reject: (reason: Error) => void,
  onCancel: () => void,
): Exchange {
  const encoder = new TextEncoder();
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  let hasBegun = false;
  const begin = (): void => {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        body = controller;
      },
      cancel: onCancel,
    });
    resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }));
  };
  return {
    get hasBegun() {
      return hasBegun;
    },
    next(text, event) {
      const isFirst = !hasBegun;
      hasBegun = true;
      if (isFirst && isError(event)) resolve(errorResponse(event));
      else if (isFirst) begin();
      body?.enqueue(encoder.encode(`data: ${text.replace(/[\r\n]/g, ' ')}\n\n`));
    },
    end() {
      body?.close();
      body = undefined;
    },
    fail(reason) {
      const status = Number(/\bresponse: ([45]\d\d)$/.exec(reason.message)?.[1]); // the package `ws`, of the handshake
      if (body) body.error(reason);
      else if (status) resolve(Response.json({ error: { message: reason.message } }, { status }));
      else reject(reason);
      body = undefined;
    },
  };
}

/** For errors without a status. A new connection has no limit yet: OpenAI sends status 400 with this code. */
const statuses: ReadonlyMap<unknown, number> = /* @__PURE__ */ new Map([
  ['rate_limit_exceeded', 429],
  ['server_error', 500],
  ['websocket_connection_limit_reached', 503],
]);

function errorResponse(event: JsonObject): Response {
  const { type: _, status, error, ...fields } = event;
  const details = error ?? fields;
  const known = statuses.get(objectOrEmpty(details)['code']) ?? 400;
  const isStatus = typeof status === 'number' && status >= 400 && status < 600; // a Response refuses others
  return Response.json({ error: details }, { status: isStatus && known !== 503 ? status : known });
}

export const isError = (event: JsonObject): boolean => isErrorEvent(nonEmptyString(event['type']), event);

/** What HTTP refuses too. `[DONE]` may be the late end of the response before. */
export function isNotJson(text: string): boolean {
  const line = text.trim();
  return line !== '' && line !== '[DONE]' && !isKeepAlive(line) && !isJsonObject(parseJsonOrText(line));
}
