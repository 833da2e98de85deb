import { describe, expect, it } from '@jest/globals';
import { map, merge, share, take } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { Model } from '../../../lib/core/model.js';
import { httpModel } from '../../../lib/providers/httpModel.js';
import type { ModelOptions } from '../../../lib/providers/httpModel.js';
import { openaiCompatible } from '../../../lib/providers/openaiCompatible.js';
import { providerContract } from '../../../lib/testing/index.js';
import type { RecordedAnswer } from '../../../lib/testing/providerContract/recordedAnswer.js';
import { toyWire } from '../../protocol/wires.js';

const acme = openaiCompatible({ name: 'acme', baseUrl: 'https://api.acme.example/v1', apiKeyVariable: 'ACME_KEY' });
const frame = (choice: object) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
const call = (index: number, fields: object) => frame({ delta: { tool_calls: [{ index, ...fields }] } });
const text: RecordedAnswer = {
  title: 'a text',
  body: `${frame({ delta: { content: 'Grüße' } })}${frame({ delta: { content: '!' }, finish_reason: 'stop' })}data: [DONE]\n\n`,
  text: 'Grüße!',
};
const calls: RecordedAnswer = {
  title: 'two calls',
  body: [
    call(0, { id: 'a', function: { name: 'add', arguments: '' } }),
    call(1, { id: 'b', function: { name: 'now', arguments: '{}' } }),
    call(0, { function: { arguments: '{"a":' } }),
    call(0, { function: { arguments: '1}' } }),
    frame({ delta: {}, finish_reason: 'tool_calls' }),
    'data: {"usage":{"prompt_tokens":7,"completion_tokens":5}}\n\n',
  ].join(''),
  calls: [
    { name: 'add', arguments: { a: 1 } },
    { name: 'now', arguments: {} },
  ],
  usage: { input: 7, output: 5, total: 12 },
};
const failure: RecordedAnswer = {
  title: 'an error',
  body: `${frame({ delta: { content: 'Half' } })}data: {"error":{"message":"The engine is on fire."}}\n\n`,
  text: 'Half',
  error: 'The engine is on fire.',
};

const contract = (model: (options: ModelOptions) => Model, answers: readonly RecordedAnswer[] = [text]) =>
  providerContract({ provider: 'acme', model, answers });
const good = (options: ModelOptions) => acme('large', options);
/** A model whose chunks are changed. */
const broken =
  (change: (chunks: Observable<Chunk>) => Observable<Chunk>) =>
  (options: ModelOptions): Model => {
    const model = good(options);
    return { ...model, stream: (request) => change(model.stream(request)) };
  };
/** The titles of the cases that fail. */
async function failures(model: (options: ModelOptions) => Model, answers?: readonly RecordedAnswer[]) {
  const titles: string[] = [];
  for (const { title, run } of contract(model, answers)) await run().catch(() => titles.push(title));
  return titles;
}

describe('providerContract', () => {
  it.each(contract(good, [text, calls, failure]))('a correct model $title', ({ run }) => run());

  it('providerContract throws without a recorded answer', () => {
    expect(() => contract(good, [])).toThrow('needs at least one recorded answer');
  });

  it('a failed case says what was expected and what happened', async () => {
    const [named] = providerContract({ provider: 'other', model: good, answers: [text] });
    await expect(named?.run()).rejects.toThrow(
      'The model breaks the provider contract: the name of the provider: expected "other", got "acme".',
    );
  });

  it('a case fails if the recorded answer contains something else', async () => {
    expect(await failures(good, [{ ...text, text: 'Hi' }])).toContain('decodes a text');
    expect(await failures(good, [{ ...calls, calls: [] }])).toContain('decodes two calls');
    expect(await failures(good, [{ ...calls, usage: { input: 1 } }])).toContain('decodes two calls');
    expect(await failures(good, [{ ...text, finishReason: 'length' }])).toContain('decodes a text');
  });

  it.each<[string, (chunks: Observable<Chunk>) => Observable<Chunk>, string]>([
    ['emits nothing after its first chunk', (chunks) => chunks.pipe(take(1)), 'decodes a text'],
    [
      'changes the text',
      (chunks) => chunks.pipe(map((chunk) => (chunk.type === 'text' ? { ...chunk, text: '?' } : chunk))),
      'decodes a text, however its bytes are cut',
    ],
    [
      'emits each chunk twice',
      (chunks) => merge(chunks, chunks),
      'sends nothing before it is subscribed, and one request for each subscriber',
    ],
    [
      'shares its response',
      (chunks) => chunks.pipe(share({ resetOnRefCountZero: false, resetOnComplete: false })),
      'aborts its request when it is unsubscribed, and emits nothing more',
    ],
  ])('providerContract finds a model that %s', async (_, change, title) => {
    expect(await failures(broken(change))).toContain(title);
  });

  it('providerContract finds a model that sends its key in the URL, or does not send the conversation', async () => {
    const inUrl = (options: ModelOptions) =>
      acme('large', { ...options, baseUrl: `https://x.y/${String(options.apiKey)}` });
    expect(await failures(inUrl)).toContain('sends its key in a header, and nowhere else');
    const silent = (options: ModelOptions) =>
      httpModel({ provider: 'acme', name: 'm', baseUrl: 'https://x.y', wire: toyWire() }, options);
    expect(await failures(silent)).toContain('sends the conversation, with its calls and results');
  });

  it('providerContract finds a model that fails at an event of an unknown type', async () => {
    const wire = toyWire();
    const intolerant = (options: ModelOptions) =>
      httpModel(
        {
          provider: 'acme',
          name: 'm',
          baseUrl: 'https://x.y',
          wire: {
            ...wire,
            decode: (emit) => {
              const decoder = wire.decode(emit);
              return {
                ...decoder,
                next(data, event) {
                  if (!('t' in data) && !('stop' in data)) throw new Error('unknown event');
                  return decoder.next(data, event);
                },
              };
            },
          },
        },
        options,
      );
    const toyText = { title: 'a text', body: 'data: {"t":"a"}\n\ndata: {"stop":true}\n\n', text: 'a' };
    expect(await failures(intolerant, [toyText])).toContain('decodes a text among events of an unknown type');
  });
});
