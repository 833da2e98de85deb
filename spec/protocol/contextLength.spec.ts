import { describe, expect, it } from '@jest/globals';
import { readContextLength } from '../../lib/protocol/errorDetails.js';
import { contextLengthPatterns } from '../../lib/protocol/contextLengthPatterns.js';
import { contextLengthError, errorDetails, providerError } from '../../lib/protocol/errorDetails.js';

describe('readContextLength', () => {
  it.each<[vendor: string, message: string, limit?: number, tokens?: number]>([
    [
      'OpenAI',
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
      128_000,
      204_308,
    ],
    [
      'OpenRouter',
      'This endpoint\'s maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
      32_768,
      42_832,
    ],
    [
      'vLLM and DeepSeek',
      "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
      16_384,
      122_946,
    ],
    [
      'vLLM with max_tokens',
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 65536 tokens and your request has 57879 input tokens (8192 > 65536 - 57879).",
      65_536,
      57_879,
    ],
    [
      'vLLM',
      "You passed 202753 input tokens and requested 0 output tokens. However, the model's context length is only 202752 tokens, resulting in a maximum input length of 202752 tokens.",
      202_752,
      202_753,
    ],
    ['SGLang', "Requested token count exceeds the model's maximum context length of 131072 tokens.", 131_072],
    ['a gateway', "Input length (265330) exceeds model's maximum context length (262144).", 262_144],
    [
      'OpenAI Responses',
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
    ],
    ['Anthropic', 'prompt is too long: 208310 tokens > 200000 maximum', 200_000, 208_310],
    [
      'Anthropic with max_tokens',
      'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
      200_000,
      178_959,
    ],
    ['Fireworks', 'The prompt is too long: 140000, model maximum context length: 131071', 131_071, 140_000],
    [
      'Google',
      'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
      1_048_576,
      1_200_293,
    ],
    ['Google, earlier', 'The input token count exceeds the maximum number of tokens allowed 1048576.', 1_048_576],
    [
      'Vertex AI',
      'Unable to submit request because the input token count is 32769 but model only supports up to 32768.',
      32_768,
      32_769,
    ],
    [
      'Mistral',
      'Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      32_768,
      65_673,
    ],
    [
      'Cohere',
      'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt, or enabling prompt truncating.',
      4081,
      4292,
    ],
    [
      'Cohere, of the whole request',
      'too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.',
      128_000,
    ],
    ['Ollama', 'prompt too long; exceeded max context length by 100918 tokens'],
    [
      'llama.cpp',
      'request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it',
      8192,
      14_429,
    ],
    [
      'LM Studio',
      'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
      32_768,
      111_490,
    ],
    [
      'Together',
      "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
      262_144,
      516_368,
    ],
    [
      'Text Generation Inference',
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`',
      65_537,
      79_993,
    ],
    [
      'Text Generation Inference, input only',
      'Input validation error: `inputs` must have less than 4096 tokens. Given: 4545',
      4096,
      4545,
    ],
    ['xAI', "This model's maximum prompt length is 131072 but the request contains 136973 tokens.", 131_072, 136_973],
    ['Bedrock', 'Input is too long for requested model.'],
    [
      'Moonshot',
      'Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)',
      262_144,
      300_000,
    ],
  ])('readContextLength reads the message of %s', (_, message, ...numbers) => {
    const [limit, tokens] = numbers.filter((value) => typeof value === 'number');
    expect(readContextLength(message, [], contextLengthPatterns)).toEqual({ limit, tokens });
  });

  it.each(['context_length_exceeded', 'exceed_context_size_error', 'ContextLengthExceeded'])(
    'readContextLength recognizes the code %s',
    (code) => expect(readContextLength('Something is too long.', [code])).toEqual({}),
  );

  it("readContextLength reads the messages of servers other than OpenAI's only with their patterns", () => {
    const message = 'prompt is too long: 208310 tokens > 200000 maximum';
    expect(readContextLength(message, [])).toBeUndefined();
    expect(readContextLength(message, [], contextLengthPatterns)).toEqual({ limit: 200_000, tokens: 208_310 });
  });

  it.each([
    'max_tokens: 21333 > 4096, which is the maximum allowed number of output tokens for claude-3-opus-20240229',
    'max_tokens is too large: 10000. This model supports at most 4096 completion tokens, whereas you provided 10000.',
    'too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.',
    'Request too large for model `llama-3.3-70b-versatile` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.',
    'Too many tokens, please wait before trying again.',
    "Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760.",
    'Request exceeds the maximum size',
    'The prompt is too long for my taste',
    'messages: text content blocks must be non-empty',
    'Invalid schema for function: context length',
    '',
  ])('readContextLength does not recognize %j', (message) => {
    expect(readContextLength(message, ['invalid_request_error', '400'], contextLengthPatterns)).toBeUndefined();
  });
});

describe('contextLengthError', () => {
  const message = 'prompt is too long: 208310 tokens > 200000 maximum';
  const error = (status: number | undefined, codes: readonly string[] = []) =>
    contextLengthError('It failed.', { message, codes }, { provider: 'toy', status }, contextLengthPatterns);

  it.each([undefined, 400, 413, 422])('contextLengthError recognizes the message with the status %s', (status) => {
    expect(error(status)).toMatchObject({ code: 'context_length', status, limit: 200_000, tokens: 208_310 });
  });

  it.each([401, 402, 403, 404, 429, 500, 503])(
    'contextLengthError ignores the message with the status %s',
    (status) => {
      expect(error(status)).toBeUndefined();
    },
  );

  it('contextLengthError ignores the message of an error that is transient', () => {
    expect(error(413, ['rate_limit_exceeded'])).toBeUndefined();
    expect(error(undefined, ['overloaded_error'])).toBeUndefined();
  });

  it('contextLengthError recognizes a code with any status, except 429', () => {
    expect(error(500, ['500', 'exceed_context_size_error'])).toMatchObject({ code: 'context_length', status: 500 });
    expect(error(429, ['context_length_exceeded'])).toBeUndefined();
  });

  it('contextLengthError has a next step, and no raw data in its JSON', () => {
    const {
      message: text,
      stack: _,
      ...fields
    } = providerError('toy', {
      error: { message: 'Too long.', code: 'context_length_exceeded' },
    }) as Error;
    expect(text).toBe(
      'toy reported an error: Too long. (context_length_exceeded). Shorten the history (keepRecent, summarize), or use ' +
        'a model with a longer context.',
    );
    expect(fields).toMatchObject({ data: { error: { message: 'Too long.' } } });
    expect(JSON.parse(JSON.stringify(error(400, ['invalid_request_error'])))).toEqual({
      name: 'ContextLengthError',
      code: 'context_length',
      message: expect.stringContaining('It failed.'),
      retryable: false,
      provider: 'toy',
      status: 400,
      limit: 200_000,
      tokens: 208_310,
    });
  });

  it('contextLengthError reads the message of an upstream that a gateway forwards', () => {
    const upstream = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } });
    const details = errorDetails({
      error: { message: 'Provider returned error', code: 400, metadata: { raw: upstream } },
    });
    expect(
      contextLengthError('It failed.', details, { provider: 'openrouter', status: 400 }, contextLengthPatterns),
    ).toMatchObject({
      limit: 200_000,
      tokens: 208_310,
    });
  });
});
