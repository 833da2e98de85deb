import { map } from 'rxjs';
import type { Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import { isRecord, tryParseJson } from '../../core/json/json.js';
import { readText, RequestError } from '../../ui/agentRequest.js';
import type { UiMessage } from './chunks.js';

/** What `DefaultChatTransport` posts. */
export interface ChatRequest {
  readonly id: string;
  readonly messages: readonly UiMessage[];
}

/** Reads the body of a POST. It fails with a RequestError. */
export function readChatRequest(request: Request, maxBytes: number): Observable<ChatRequest> {
  return readText(request, maxBytes).pipe(
    map((text) => {
      const body = tryParseJson(text);
      if (!isRecord(body) || typeof body['id'] !== 'string' || !Array.isArray(body['messages']))
        throw new RequestError(400, 'The body is not a request of useChat. Send { id, messages } as JSON.');
      return { id: body['id'], messages: body['messages'] as readonly UiMessage[] };
    }),
  );
}

/** The id of the chat in a URL that ends with `/<id>/stream`. */
export function chatIdOf({ url }: Request): string | undefined {
  const id = /\/([^/]+)\/stream\/?$/.exec(new URL(url).pathname)?.[1];
  return id === undefined ? undefined : decodeURIComponent(id);
}

/** The response to a request that fails. `useChat` shows its text as the message of the error. */
export function problemResponse(thrown: unknown, headers: Readonly<Record<string, string>>): Response {
  const [status, text] = statusAndText(thrown);
  return new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } });
}

function statusAndText(thrown: unknown): readonly [number, string] {
  if (thrown instanceof RequestError) return [thrown.status, thrown.message];
  if (thrown instanceof ConfigurationError && thrown.subject === 'history') return [400, thrown.message];
  return [500, 'The request failed.'];
}
