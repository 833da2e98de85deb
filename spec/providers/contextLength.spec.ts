import { createOpenAI } from '@ai-sdk/openai';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { fromAiSdk } from '../../lib/providers/aiSdk/aiSdk.js';
import { modelByName } from '../../lib/providers/registry/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer, ServeOptions } from '../../lib/testing/server/index.js';
import { outcome } from '../support/outcome.js';

/** How a provider reports that a context is too long: as a response, and as the first event of a stream. */
interface Report {
  readonly provider: string;
  /** The body of the response with this status. */
  readonly body: JsonObject;
  readonly status?: number;
  /** The frame in a response with status 200. */
  readonly frame: string;
  readonly limit?: number;
  readonly tokens?: number;
  readonly make?: (server: LoopbackServer) => Model;
}

const sse = (json: JsonObject, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(json)}\n\n`;

const chatMessage =
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens.";
const openaiError = {
  error: { message: chatMessage, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
};
const responsesError = {
  type: 'invalid_request_error',
  code: 'context_length_exceeded',
  message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
  param: 'input',
};
const anthropicError = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'prompt is too long: 208310 tokens > 200000 maximum' },
  request_id: 'req_1',
};
const googleError = {
  error: {
    code: 400,
    message: 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
    status: 'INVALID_ARGUMENT',
  },
};
const cohereMessage =
  'too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. The limit for this model ' +
  'is 128000 tokens.';
const openrouterError = {
  error: {
    message: `This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens.`,
    code: 400,
    metadata: { provider_name: null },
  },
};
const mistralError = {
  object: 'error',
  message: 'Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  type: 'invalid_request_error',
  code: '3051',
};
const togetherError = {
  error: {
    message:
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and ' +
      '1024 `max_new_tokens`',
    type: 'invalid_request_error',
    code: null,
  },
};
const ollamaError = { error: 'prompt too long; exceeded max context length by 100918 tokens' };

const ollamaInputError = { error: 'the input length exceeds the context length' };

const reports: readonly Report[] = [
  { provider: 'openai-chat', body: openaiError, frame: sse(openaiError), limit: 128_000, tokens: 204_308 },
  {
    provider: 'openai',
    body: { error: responsesError },
    frame: sse({ type: 'error', sequence_number: 2, error: responsesError }, 'error'),
  },
  {
    provider: 'anthropic',
    body: anthropicError,
    frame: sse(anthropicError, 'error'),
    limit: 200_000,
    tokens: 208_310,
  },
  { provider: 'google', body: googleError, frame: sse(googleError), limit: 1_048_576, tokens: 1_200_293 },
  {
    provider: 'cohere',
    body: { id: '1', message: cohereMessage },
    frame: sse({ type: 'message-end', delta: { finish_reason: 'ERROR', error: cohereMessage } }, 'message-end'),
    limit: 128_000,
  },
  { provider: 'openrouter', body: openrouterError, frame: sse(openrouterError), limit: 32_768, tokens: 42_832 },
  { provider: 'mistral', body: mistralError, frame: sse({ error: mistralError }), limit: 32_768, tokens: 65_673 },
  {
    provider: 'together',
    status: 422,
    body: togetherError,
    frame: sse(togetherError),
    limit: 65_537,
    tokens: 79_993,
  },
  { provider: 'ollama', body: ollamaError, frame: `${JSON.stringify(ollamaError)}\n` },
  { provider: 'ollama', body: ollamaInputError, frame: `${JSON.stringify(ollamaInputError)}\n` },
  {
    provider: 'openai.chat',
    body: openaiError,
    frame: sse(openaiError),
    limit: 128_000,
    tokens: 204_308,
    make: ({ url }) => fromAiSdk(createOpenAI({ baseURL: url, apiKey: 'none' }).chat('gpt-5'), { retry: false }),
  },
];

const question = { messages: [userMessage('A long question.')] };

describe.each(reports)('$provider: a context that is too long, over real HTTP', (report) => {
  const { provider, body, status = 400, frame, limit, tokens, make } = report;
  let server: LoopbackServer | undefined;
  afterEach(() => server?.close());

  async function failure(options: ServeOptions) {
    const started = await serveModel(['Hello'], options);
    server = started;
    const model =
      make?.(started) ??
      modelByName(provider, { baseUrl: started.urlFor(provider), apiKey: 'none', retry: { initialDelay: 0 } });
    return outcome(model.stream(question));
  }

  it('the response is a ContextLengthError, and is not retried', async () => {
    const { values, error } = await failure({ status, body });
    expect(values).toEqual([]);
    expect(error).toMatchObject({ name: 'ContextLengthError', code: 'context_length', status, retryable: false });
    expect(error).toMatchObject({ limit, tokens, message: expect.stringContaining(`${status}`) });
    expect(server?.requests).toHaveLength(1);
  });

  it('the error in the stream is a ContextLengthError, and is not retried', async () => {
    const { error } = await failure({ raw: [frame] });
    expect(error).toMatchObject({ name: 'ContextLengthError', code: 'context_length', retryable: false });
    expect(error).toMatchObject({ limit, tokens, message: expect.stringContaining('keepRecent') });
    expect(server?.requests).toHaveLength(1);
  });

  it('another error with the status 400 is an HttpError', async () => {
    const other = {
      error: { message: 'max_tokens: 21333 > 4096, which is the maximum', type: 'invalid_request_error' },
    };
    expect((await failure({ status: 400, body: other })).error).toMatchObject({ code: 'http', status: 400 });
  });
});

describe('a run with a context that is too long', () => {
  it('the error does not repeat the conversation', async () => {
    const server = await serveModel([], {
      status: 400,
      body: {
        error: { message: `${chatMessage} You wrote: A long question of mine.`, code: 'context_length_exceeded' },
      },
    });
    const model = modelByName('openai-chat', { baseUrl: server.url, apiKey: 'none' });
    const { error } = await outcome(createAgent({ model }).stream('A long question of mine.'));
    await server.close();
    expect(error).toMatchObject({ code: 'context_length', limit: 128_000 });
    expect(JSON.stringify([error, String(error)])).not.toContain('question');
    expect(error).not.toHaveProperty('body');
  });
});
