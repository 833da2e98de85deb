import { ConfigurationError } from '../../core/errors.js';
import type { Script } from '../script.js';
import { anthropic } from './dialects/anthropic/anthropic.js';
import { chatCompletions } from './dialects/chatCompletions/chatCompletions.js';
import { mistral, openrouter } from './dialects/chatCompletions/variant.js';
import { cohere } from './dialects/cohere/cohere.js';
import type { Dialect, Refusal } from './dialects/dialect.js';
import { google } from './dialects/google/google.js';
import { googleInteractions } from './dialects/googleInteractions/googleInteractions.js';
import { ollama } from './dialects/ollama/ollama.js';
import { responses } from './dialects/responses/responses.js';
import { requireNumber } from '../../core/options.js';
import { behaviourFor, requireBehaviour, type ServedRequest, type ServedTurn, type ServeOptions } from './options.js';
import { PromptCache } from './promptCache.js';
import { errorResponse, playedResponse, rawResponse, scriptedResponse } from './response.js';
import type { PlayedTurn, ServedResponse } from './response.js';

/** The first one that serves a path answers. An unknown path is answered in OpenAI's format. */
const dialects: readonly Dialect[] = [
  mistral,
  openrouter,
  chatCompletions,
  anthropic,
  google,
  googleInteractions,
  ollama,
  cohere,
  responses,
];

/** The path of the base URL that the provider's own function needs to reach its dialect. */
export function basePath(provider: string): string {
  const bases = new Map(dialects.flatMap((dialect) => Object.entries(dialect.bases)));
  const base = bases.get(provider);
  if (base !== undefined) return base;
  throw new ConfigurationError(
    'provider',
    `The loopback server has no dialect for "${provider}". It has: ${[...bases.keys()].sort().join(', ')}.`,
    'Use one of these, or `server.url` for any server that speaks the Chat Completions API.',
  );
}

export function createResponder(
  script: Script<ServedTurn>,
  options: ServeOptions,
): (request: ServedRequest) => ServedResponse {
  const { apiKey, failFirst } = options;
  requireBehaviour(options);
  requireNumber('port', options.port, 0, 65_535);
  requireNumber('failFirst.status', failFirst?.status, 200, 599);
  requireNumber('failFirst.times', failFirst?.times, 0);
  let toFail = failFirst ? (failFirst.times ?? 1) : 0;
  let turns = 0;
  const serverDialects = dialects.map((dialect) => dialect.perServer?.() ?? dialect);

  const cache = options.promptCache === true ? new PromptCache() : undefined;
  const kept = new Map<string, PlayedTurn>();
  const keep = (dialect: Dialect) => (played: PlayedTurn) => {
    const id = dialect.keptId?.(played);
    if (id !== undefined) kept.set(id, played);
  };
  const findRest = (request: ServedRequest) => {
    for (const dialect of serverDialects) {
      const rest = dialect.restOf?.(request);
      if (rest) return { dialect, ...rest };
    }
    return undefined;
  };

  const decide = (request: ServedRequest): ServedResponse => {
    const path = request.path.split('?', 1)[0] ?? '';
    const dialect = serverDialects.find((one) => one.serves(path));
    const format = dialect ?? chatCompletions;
    const behaviour = behaviourFor(options, request);
    const headers = behaviour.headers ?? {};
    if (failFirst && toFail > 0) {
      toFail -= 1;
      const { status, retryAfter, body } = failFirst;
      const after = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
      return errorResponse(format, failure(status), {
        headers: { ...after, ...headers },
        ...(body === undefined ? {} : { body }),
      });
    }
    const key = format.keyIn?.(request.headers) ?? bearer(request.headers) ?? request.headers['api-key']; // Azure
    if (apiKey !== undefined && key !== apiKey) return errorResponse(format, failure(401), { headers });
    if (behaviour.raw) return rawResponse(format, behaviour, behaviour.raw);
    if ((behaviour.status ?? 200) >= 400) return errorResponse(format, failure(behaviour.status ?? 500), behaviour);
    const rest = findRest(request);
    if (rest) {
      const played = kept.get(rest.id);
      return played
        ? playedResponse(rest.dialect, behaviour, played, rest.includes)
        : errorResponse(rest.dialect, notKept(rest.id), { headers });
    }
    const refusal = dialect
      ? (wrongMethod(request, path) ?? dialect.refusal(request.body, request.headers, request.path))
      : unknownPath(request, path);
    return refusal || !dialect
      ? errorResponse(format, refusal ?? unknownPath(request, path), { headers })
      : scriptedResponse(dialect, behaviour, script, ++turns, request, keep(dialect), cache);
  };

  return (request) => {
    const response = decide(request);
    return { ...response, headers: { 'x-request-id': `req_${request.order + 1}`, ...response.headers } };
  };
}

const bearer = (headers: ServedRequest['headers']) => /^Bearer (.*)$/i.exec(headers['authorization'] ?? '')?.[1];

const unknownPath = ({ method }: ServedRequest, path: string): Refusal => ({
  status: 404,
  type: 'invalid_request_error',
  code: 'unknown_url',
  message: `Unknown request URL: ${method} ${path}. Please check the URL for typos.`,
});

const notKept = (id: string): Refusal => ({
  status: 404,
  type: 'invalid_request_error',
  message: `Response with id '${id}' not found.`,
});

const wrongMethod = ({ method }: ServedRequest, path: string): Refusal | undefined =>
  method === 'POST'
    ? undefined
    : {
        status: 405,
        type: 'invalid_request_error',
        code: 'method_not_supported',
        message: `Not allowed to ${method} on ${path}.`,
      };

/** The error that OpenAI sends with a status (its guide "Error codes"). */
function failure(status: number): Refusal {
  if (status === 401)
    return { status, type: 'invalid_request_error', code: 'invalid_api_key', message: 'Incorrect API key provided.' };
  if (status === 429)
    return { status, type: 'requests', code: 'rate_limit_exceeded', message: 'Rate limit reached for requests.' };
  if (status >= 500)
    return { status, type: 'server_error', message: 'The server had an error while processing your request.' };
  return { status, type: 'invalid_request_error', message: `The request was refused with status ${status}.` };
}
