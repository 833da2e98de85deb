import { describe, expect, it } from '@jest/globals';
import { catchError, lastValueFrom, of, toArray } from 'rxjs';
import { userMessage } from '../../lib/core/message.js';
import type { HttpError } from '../../lib/core/errors.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { cohere } from '../../lib/providers/cohere/cohere.js';
import { google } from '../../lib/providers/google/google.js';
import { mistral } from '../../lib/providers/mistral.js';
import { ollama } from '../../lib/providers/ollama/ollama.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openai } from '../../lib/providers/openai.js';
import { providerError } from '../../lib/protocol/errorDetails.js';

const wires = { anthropic, cohere, google, mistral, ollama, openaiChat, openai };

/** Sends a request to a server that always answers the same, and returns the number of requests and the error. */
async function ask(create: typeof openaiChat, status: number, body: unknown, headers: Record<string, string> = {}) {
  let requests = 0;
  const fetch = (async () => {
    requests++;
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
  }) as typeof globalThis.fetch;
  const options: ModelOptions = { apiKey: 'k', fetch, retry: { count: 2, initialDelay: 0, maxDelay: 5000 } };
  const chunks = create('m', options).stream({ messages: [userMessage('Hi')] });
  const all = await lastValueFrom(
    chunks.pipe(
      catchError((error: unknown) => of(error as HttpError)),
      toArray(),
    ),
  );
  const error = all.at(-1) as HttpError;
  return { requests, message: error.message, retryable: error.retryable };
}

const error = (message: string, code: string, type = code) => ({ error: { message, type, code } });
const googleError = (message: string, ...details: object[]) => ({
  error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details },
});
const violation = (quotaId: string) => ({ '@type': 'google.rpc.QuotaFailure', violations: [{ quotaId }] });
const groq = (limit: string) =>
  error(`Rate limit reached on tokens ${limit}. Upgrade at https://console.groq.com/settings/billing`, 'rate_limit');

const permanent: [what: string, status: number, body: unknown, advice: RegExp][] = [
  ['no credits', 429, error('You have no credits remaining.', 'credit_balance_exhausted', 'requests'), /billing/],
  ['quota', 429, error('You exceeded your current quota', 'insufficient_quota'), /billing/],
  ['inactive account', 429, error('Your account is not active', 'billing_not_active'), /billing/],
  ['spend limit', 429, error('Limit reached', 'project_spend_limit_exceeded', 'insufficient_quota'), /billing/],
  ['monthly limit', 429, error('Limit reached', 'organization_usage_limit_exceeded', 'requests'), /billing/],
  [
    'spend limit of a tier',
    429,
    { error: { type: 'rate_limit_error', message: 'No', details: { error_code: 'enforced_spend_limit_reached' } } },
    /billing/,
  ],
  ['extra usage', 429, error('Extra usage is required for long context requests.', 'rate_limit_error'), /billing/],
  ['balance', 429, error('Recharge', 'exceeded_current_quota_error'), /billing/],
  [
    'daily quota',
    429,
    googleError('Quota', violation('GenerateRequestsPerDayPerProjectPerModel-FreeTier')),
    /tomorrow/,
  ],
  ['daily quota, as text', 429, googleError("limit 'Requests per day'", { retryDelay: '1s' }), /tomorrow/],
  ['limit: 0', 429, googleError('metric: requests, limit: 0, model: gemini-3-pro', { retryDelay: '1s' }), /plan/],
  ['an image', 500, error('image input is not supported - hint: you may need the mmproj', 'server_error'), /content/],
  ['arguments', 500, error('Failed to parse tool call arguments as JSON: [json.exception]', 'server_error'), /content/],
  ['content', 500, error('No', 'content_policy_violation'), /content/],
];
const transient: [what: string, status: number, body: unknown, headers?: Record<string, string>][] = [
  ['rate limit', 429, error('Rate limit reached', 'rate_limit_exceeded')],
  ['a limit per minute, with a link to billing', 429, groq('per minute (TPM)')],
  ['a sliding limit per day', 429, groq('per day (TPD)'), { 'retry-after': '0' }],
  ['a limit per minute', 429, googleError('Check your plan and billing', violation('RequestsPerMinutePerModel'))],
  ['limit: 0.5', 429, error('limit: 0.5 requests per second', 'rate_limit')],
  ['overloaded', 529, error('Overloaded', 'overloaded_error')],
  ['a server error', 500, error('Internal', 'server_error')],
];

describe('permanentAdvice', () => {
  it.each(Object.keys(wires))('%s retries what a wait may cure, and nothing else', async (wire) => {
    const create = wires[wire as keyof typeof wires];
    for (const [what, status, body, advice] of permanent) {
      const { requests, message, retryable } = await ask(create, status, body);
      expect([what, requests, retryable]).toEqual([what, 1, false]);
      expect(message).toMatch(advice);
    }
    for (const [what, status, body, headers] of transient)
      expect([what, (await ask(create, status, body, headers)).requests]).toEqual([what, 3]);
  });

  it.each([
    ['false', 503, 1],
    ['true', 400, 3],
    ['maybe', 503, 3],
  ])('obeys x-should-retry: %s after %i', async (header, status, requests) => {
    expect((await ask(openaiChat, status, error('No', 'no'), { 'x-should-retry': header })).requests).toBe(requests);
  });

  it('is asked about errors inside a stream, too', () => {
    for (const [, , body] of permanent) expect(providerError('toy', body)).toMatchObject({ retryable: false });
    for (const [, status, body] of transient.filter(([, each, , headers]) => each === 429 && !headers))
      expect(providerError('toy', { ...(body as object), code: status })).toMatchObject({ retryable: true });
  });

  it.each([
    [413, '<html><head><title>413 Request Entity Too Large</title></head><body>nginx', /413: 413 Request.* Send less/],
    [502, '<!DOCTYPE html>\n<style>p { color: red }</style><p>Bad <b>gateway</b>', /502: Bad gateway\./],
    [503, '<?xml version="1.0"?><Error><Code>SlowDown</Code></Error>', /503: SlowDown\./],
    [504, '<html><style>p { color: red }', /504: no explanation/],
  ])('the error of status %i quotes a page without markup (%#)', async (status, body, message) => {
    const said = (await ask(openaiChat, status, body)).message;
    expect(said).toMatch(message);
    expect(said).not.toMatch(/[<>]|color/);
  });
});
