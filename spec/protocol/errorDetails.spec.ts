import { describe, expect, it } from '@jest/globals';
import {
  contextLengthError,
  errorDetails,
  excerpt,
  hasErrorField,
  isErrorDocument,
  isRetryableStatus,
  isTransient,
  primaryCode,
  providerError,
  quoted,
  textError,
} from '../../lib/protocol/errorDetails.js';

describe('errorDetails', () => {
  it.each([
    [
      'an OpenAI error',
      { error: { message: 'No such model', type: 'invalid_request_error', code: null } },
      'No such model',
      'invalid_request_error',
    ],
    [
      'an Anthropic error',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'Overloaded',
      'overloaded_error',
    ],
    [
      'a Google error in an array',
      [{ error: { code: 400, message: 'API key not valid', status: 'INVALID_ARGUMENT' } }],
      'API key not valid',
      'INVALID_ARGUMENT',
    ],
    ['an OpenRouter error', { error: { code: 402, message: 'Insufficient credits' } }, 'Insufficient credits', '402'],
    [
      "an OpenRouter error with the upstream's message",
      { error: { message: 'Provider returned error', code: 429, metadata: { raw: 'slow down' } } },
      'Provider returned error: slow down',
      '429',
    ],
    ['an error text', { error: 'model "x" not found' }, 'model "x" not found', undefined],
    ['a message', { id: '1', message: 'invalid api token' }, 'invalid api token', undefined],
    ['a detail', { detail: 'Not Found' }, 'Not Found', undefined],
    ['details', { detail: [{ loc: ['body'], msg: 'Field required', type: 'missing' }] }, 'Field required', 'missing'],
    ['an array of errors', { errors: [{ message: 'first' }, 'second'] }, 'first', undefined],
    ['errors as text', { errors: ['only'] }, 'only', undefined],
    ['a code in status_code', { status_code: 1004, status_msg: 'login fail' }, 'login fail', '1004'],
    ['a code in statusCode', { statusCode: 404, message: 'no such route' }, 'no such route', '404'],
    [
      "the type of OpenRouter's metadata",
      { error: { message: 'Refused', metadata: { error_type: 'moderation' } } },
      'Refused',
      'moderation',
    ],
    ['metadata without a message', { error: { metadata: { raw: 'upstream is down' } } }, 'upstream is down', undefined],
    ['a code that begins with digits', { error: { message: 'm', code: '4xx_bad' } }, 'm', '4xx_bad'],
    ['a code that ends with digits', { error: { message: 'm', code: 'e42' } }, 'm', 'e42'],
    ['the type "error", which says nothing', { type: 'error', message: 'm' }, 'm', undefined],
    ['a long code, cut', { message: 'm', code: 'c'.repeat(201) }, 'm', 'c'.repeat(200)],
    ['a message of 1,000 characters', { message: 'm'.repeat(1000) }, 'm'.repeat(1000), undefined],
    ['a longer message, cut', { message: 'm'.repeat(1001) }, `${'m'.repeat(1000)}...`, undefined],
    [
      "OpenAI's param",
      { error: { message: 'Bad name', param: 'tools[1].name' } },
      'Bad name (at tools[1].name)',
      undefined,
    ],
    [
      'a param that the message has',
      { error: { message: 'Bad tools[1]', param: 'tools[1]' } },
      'Bad tools[1]',
      undefined,
    ],
    ['a param without an index', { error: { message: 'Bad name', param: 'model' } }, 'Bad name', undefined],
    ['a param without a message', { error: { param: 'tools[1]' } }, undefined, undefined],
    ['a place that is not a text', { error: { message: 'm', param: 1 } }, 'm', undefined],
    [
      "FastAPI's place",
      { detail: [{ loc: ['messages', 2, 'role'], msg: 'bad' }] },
      'bad (at messages.2.role)',
      undefined,
    ],
    ['a document without an error', { choices: [] }, undefined, undefined],
    ['something else than an object', 7, undefined, undefined],
  ])('errorDetails reads %s', (_, json, message, code) => {
    const details = errorDetails(json);
    expect(details.message).toBe(message);
    expect(primaryCode(details.codes)).toBe(code);
  });

  it.each([400, 401, 403, 404, 422])('isRetryableStatus is false for %i', (status) => {
    expect(isRetryableStatus(status)).toBe(false);
  });

  it.each([600, 302])('isRetryableStatus is false for %i, which is not an error of a server', (status) => {
    expect(isRetryableStatus(status)).toBe(false);
  });

  it.each([408, 409, 429, 500, 501, 503, 529, 599])('isRetryableStatus is true for %i', (status) => {
    expect(isRetryableStatus(status)).toBe(true);
  });

  it.each([
    [['overloaded_error'], true],
    [['RESOURCE_EXHAUSTED', '429'], true],
    [['rate_limit_exceeded'], true],
    [['503'], true],
    [['insufficient_quota', '429'], false],
    [['invalid_request_error'], false],
    [[], false],
  ])('isTransient(%j) is %s', (codes, transient) => {
    expect(isTransient({ message: undefined, codes })).toBe(transient);
  });

  it('hasErrorField is true for an error that is set, also in an array', () => {
    for (const json of [{ error: 'x' }, { error: {} }, [{ error: 'x' }]]) expect(hasErrorField(json)).toBe(true);
    expect(hasErrorField({ error: '' })).toBe(false); // Ollama's
    for (const json of [{ error: null }, { error: false }, {}, [], 'error', null])
      expect(hasErrorField(json)).toBe(false);
  });

  it('providerError has the message, the code and the data of the frame', () => {
    const json = { error: { message: 'Too busy', code: 503 } };
    expect(providerError('toy', json)).toMatchObject({
      code: 'provider',
      provider: 'toy',
      message: 'toy reported an error: Too busy (503)',
      providerCode: '503',
      retryable: true,
      data: json,
    });
    expect(providerError('toy', { error: {} }).message).toBe('toy reported an error: no explanation');
  });

  it.each([
    ['an error field', { error: 'x' }, true],
    ["MiniMax's base_resp", { base_resp: { status_code: 1004, status_msg: 'login fail' } }, true],
    ["MiniMax's base_resp of a success", { base_resp: { status_code: 0, status_msg: 'success' } }, false],
    ['a message with its code', { message: 'No', code: 'denied' }, true],
    ['one code of several that reports an error', { message: 'No', code: 200, status: 'denied' }, true],
    ...['0', '200', 'ok', 'OK', 'success'].map(
      (code) => [`the code ${code}`, { message: 'Fine', code }, false] as const,
    ),
    ...['1200', '2001', 'not ok', 'successor'].map(
      (code) => [`the code ${code}`, { message: 'No', code }, true] as const,
    ),
    ['a message without a code', { message: 'Hello' }, false],
    ['a code without a message', { code: 'denied' }, false],
    ['a text', 'error', false],
  ])('isErrorDocument: %s', (_, json, is) => {
    expect(isErrorDocument(json)).toBe(is);
  });

  it.each([
    ['JSON', '{"error":{"message":"Too busy"}}', 'toy reported an error: Too busy'],
    ['the field of an error', 'error: {"message":"Too busy"}', 'toy reported an error: Too busy'],
    ['the field without a space', 'error:Too busy', 'toy reported an error: Too busy'],
    ['the field in a later line', 'id: 1\nerror: Too busy\nid: 2', 'toy reported an error: Too busy'],
    ['the word within a line', 'an error: Too busy', undefined],
    ['JSON without an error', '{"message":"Hello"}', undefined],
    ['other text', 'Hello', undefined],
  ])('textError reads %s', (_, text, message) => {
    expect(textError('toy', text)?.message).toBe(message);
  });

  it.each([
    [undefined, ['context_length_exceeded'], true],
    [400, ['context_length_exceeded'], true],
    [500, ['context_length_exceeded'], true], // the code counts more than the status
    [429, ['context_length_exceeded'], false], // a limit of tokens per minute
    [422, [], true],
    [413, [], true],
    [500, [], false],
    [413, ['rate_limit_exceeded'], false],
  ])('contextLengthError with status %s and codes %j: %s', (status, codes, is) => {
    const message = "This model's maximum context length is 10 tokens. However, you requested 12 tokens.";
    const error = contextLengthError('Too long.', { message, codes }, { provider: 'toy', status });
    expect(error !== undefined).toBe(is);
  });

  it.each([
    ['a page without a title', ' <html>\n  Bad gateway ', 'Bad gateway'],
    ['the title of a page', '<html><head><TITLE lang="en">502 Bad Gateway</TITLE></head><h1>nginx', '502 Bad Gateway'],
    ['no styles and scripts', '<p>a<style>b { c: d }</style>e<script>f()</script>g</p>', 'a e g'],
    ['no tag that is cut', '<p>a<b', 'a'],
    ['no style that is cut', '<p>a<style>b', 'a'],
    ['text with a comparison', 'a <b', 'a <b'],
    ['one line', 'a\n\n  b', 'a b'],
    ['200 characters', 'x'.repeat(200), 'x'.repeat(200)],
    ['not more', 'x'.repeat(201), `${'x'.repeat(200)}...`],
    ['no JSON', '{"key":1}', ''],
    ['no list', '[1]', ''],
    ['no JSON within a text', 'The request was {"key":1}', ''],
    ['no JSON with spaces', 'The request was { "key": 1}', ''],
    ['text with a bracket', 'a [b]', 'a [b]'],
  ])('excerpt is %s', (_, text, beginning) => {
    expect(excerpt(text)).toBe(beginning);
    expect(quoted(text)).toBe(beginning === '' ? '' : `: "${beginning}"`);
  });
});
