import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { NEVER, Observable, concat, firstValueFrom, from, take } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { openaiCompatible } from '../../../lib/index.js';
import { traceAgent, traceModel } from '../../../lib/observe/opentelemetry/index.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import { HttpError } from '../../../lib/core/errors.js';
import { filePart, userMessage } from '../../../lib/core/message.js';
import { setUsageOfError } from '../../../lib/core/usageOfError.js';
import { scriptedModel } from '../../../lib/testing/index.js';
import { observe } from '../../support/observe.js';
import { record, useContextManager } from './recording.js';

const request = { messages: [userMessage('Hi')] };
const text: Chunk = { type: 'text', text: 'a' };

describe('traceModel', () => {
  let removeContextManager: () => void;
  beforeAll(() => {
    removeContextManager = useContextManager();
  });
  afterAll(() => removeContextManager());

  it('traceModel makes each subscription a span, a child of the active one, and changes no chunk', () => {
    const { options, tracer, tree } = record();
    const model = traceModel(
      scriptedModel(() => 'Hi.'),
      options,
    );
    const chunks = model.stream(request);
    expect(tree()).toEqual([]);
    tracer.startActiveSpan('caller', (span) => {
      expect(observe(chunks).values).toEqual(observe(scriptedModel(() => 'Hi.').stream(request)).values);
      span.end();
    });
    observe(chunks);
    expect(tree()).toEqual(['caller', '  chat scripted', 'chat scripted']);
  });

  it('traceModel sends the request in the context of its span, and calls its subscriber in its own', () => {
    const { options } = record();
    const active: unknown[] = [];
    const model = scriptedModel(() => {
      active.push(trace.getActiveSpan() !== undefined);
      return 'Hi.';
    });
    traceModel(model, options)
      .stream(request)
      .subscribe({
        next: () => active.push(trace.getActiveSpan()),
        complete: () => active.push(trace.getActiveSpan()),
      });
    expect(active).toEqual([true, undefined, undefined, undefined]);
  });

  it('traceModel describes the model that it wraps', () => {
    const model = scriptedModel([], { provider: 'xai', name: 'grok', capabilities: { tools: true } });
    expect(traceModel(model)).toMatchObject({ provider: 'xai', name: 'grok', capabilities: { tools: true } });
  });

  it.each([
    ['the code of the provider', { status: 429, providerCode: 'insufficient_quota' }, 'insufficient_quota'],
    ['the HTTP status', { status: 503 }, '503'],
    ['the HTTP status, if the code is a sentence', { status: 400, providerCode: 'You said: "hello"' }, '400'],
  ])('traceModel records %s as the type of an error, and the message of the provider', (_, details, type) => {
    const failure = new HttpError('No quota.', { provider: 'scripted', retryable: false, ...details });
    const { options, span } = record();
    observe(traceModel(scriptedModel([[{ error: failure }]]), options).stream(request));
    expect(span('chat scripted')).toMatchObject({
      attributes: { 'error.type': type },
      status: { code: SpanStatusCode.ERROR, message: 'No quota.' },
    });
  });

  const said = 'The patient has a rare illness';
  it.each<[what: string, status: number, type: string, body: string]>([
    [
      'an HTTP error',
      400,
      'application/json',
      JSON.stringify({ error: { message: `Refused: "${said}".`, code: said.replaceAll(' ', '_') } }),
    ],
    ['a page', 200, 'text/html', `<title>${said}</title>`],
    ['an error in the stream', 200, 'text/event-stream', `data: {"error":{"message":"Refused: ${said}"}}\n\n`],
    ['a frame that is not JSON', 200, 'text/event-stream', `data: Refused: ${said}\n\n`],
  ])('traceModel hides what %s repeats of the conversation, also with debug', async (_, status, type, body) => {
    const { options, ended, text: recorded } = record();
    const fetch = async () => new Response(body, { status, headers: { 'content-type': type } });
    const model = openaiCompatible({ name: 'q', baseUrl: 'https://q.example/v1', fetch, debug: true, retry: false })(
      'm',
    );
    const failure = firstValueFrom(traceAgent(createAgent({ model }), options).run(said));
    await expect(failure).rejects.toThrow(said);
    expect(ended().map(({ status: { message } }) => message)).toEqual(
      Array(3).fill(expect.stringMatching(/^q .*\[conversation\]/)),
    );
    expect(await recorded()).not.toContain('illness');
  });

  const unreadable = {
    get code(): string {
      throw new Error('unreadable');
    },
  };
  it.each<[what: string, thrown: () => unknown, type: string]>([
    ['an Error', () => new TypeError('a'), 'TypeError'],
    ['a text', () => 'a text', '_OTHER'],
    ['undefined', () => undefined, '_OTHER'],
    ['an unreadable object', () => unreadable, '_OTHER'],
  ])('traceModel records the type of a thrown value: %s', (_, thrown, type) => {
    const { options, span } = record();
    observe(traceModel(scriptedModel([new Observable<Chunk>((out) => out.error(thrown()))]), options).stream(request));
    expect(span('chat scripted')).toMatchObject({ attributes: { 'error.type': type }, status: { code: 2 } });
    expect(span('chat scripted').status.message).toBeUndefined();
  });

  it('traceModel ends the span of a request that is left, and records what was known', () => {
    const { options, span, open } = record();
    const model = scriptedModel([
      concat(from<Chunk[]>([{ type: 'metadata', metadata: { responseId: 'r1' } }, text]), NEVER),
    ]);
    observe(traceModel(model, options).stream(request).pipe(take(2)));
    expect(open()).toEqual([]);
    expect(span('chat scripted')).toMatchObject({
      attributes: { 'error.type': 'cancelled', 'gen_ai.response.id': 'r1' },
      status: { code: SpanStatusCode.UNSET },
    });
  });

  it('traceModel counts the tokens of void attempts and of failed requests', () => {
    const failure = new Error('reset');
    setUsageOfError(failure, { input: 9 });
    const retracted: Chunk = { type: 'retract', usage: { input: 7, output: 1 } };
    const model = scriptedModel([
      ['a', retracted, 'b', { type: 'finish', reason: 'stop', usage: { input: 10, output: 2 } }],
      [retracted, { error: failure }],
    ]);
    const { options, ended } = record();
    const traced = traceModel(model, options);
    observe(traced.stream(request));
    observe(traced.stream(request));
    expect(ended().map(({ attributes }) => attributes['gen_ai.usage.input_tokens'])).toEqual([17, 16]);
    expect(ended().map(({ attributes }) => attributes['gen_ai.usage.output_tokens'])).toEqual([3, 1]);
  });

  it('traceModel creates each metric once per meter', () => {
    const { options } = record();
    const created: string[] = [];
    const meter = new Proxy(options.meter, {
      get: (target, key) =>
        key === 'createHistogram'
          ? (...args: Parameters<typeof target.createHistogram>) => {
              created.push(args[0]);
              return target.createHistogram(...args);
            }
          : (Reflect.get(target, key) as unknown),
    });
    const model = traceModel(
      scriptedModel(() => 'Hi.'),
      { ...options, meter },
    );
    observe(model.stream(request));
    observe(model.stream(request));
    expect(created).toEqual(['gen_ai.client.operation.duration', 'gen_ai.client.operation.time_to_first_chunk']);
  });

  it('traceModel records files as the conventions write them', () => {
    const { options, span } = record();
    const files = [
      filePart(new Uint8Array([1]), 'image/png'),
      filePart(new URL('https://example.org/a.pdf'), 'application/pdf'),
    ];
    observe(
      traceModel(scriptedModel(['Hi.']), { ...options, content: true }).stream({ messages: [userMessage(files)] }),
    );
    expect(JSON.parse(String(span('chat scripted').attributes['gen_ai.input.messages']))).toEqual([
      {
        role: 'user',
        parts: [
          { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'AQ==' },
          { type: 'uri', mime_type: 'application/pdf', modality: 'document', uri: 'https://example.org/a.pdf' },
        ],
      },
    ]);
  });
});
