import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { decodeGoogle } from '../../../lib/providers/google/decode.js';
import { encodeGoogle } from '../../../lib/providers/google/encode.js';
import { wholeAnswer } from '../wholeAnswer.js';

const frame = (parts: JsonValue, candidate: JsonObject = {}, rest: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...candidate }],
  modelVersion: 'gemini-x',
  responseId: 'r1',
  ...rest,
});
const call = (functionCall: JsonObject, rest: JsonObject = {}): JsonObject => frame([{ functionCall, ...rest }]);
const stop = frame([], { finishReason: 'STOP' });
const read = (...frames: readonly JsonObject[]) => wholeAnswer(decodeGoogle, frames);
/** What comes back of an answer in the next request. */
const replayed = (...frames: readonly JsonObject[]) => {
  const { message } = read(...frames);
  const { body } = encodeGoogle('gemini-2.5-flash', { messages: [userMessage('Hi'), ...(message ? [message] : [])] });
  return (body['contents'] as readonly JsonObject[])[1]?.['parts'];
};
const calls = (...frames: readonly JsonObject[]) =>
  read(...frames, stop).calls.map(({ name, arguments: args }) => [name, args]);

describe('google: text, thoughts and what is known of an answer', () => {
  it('tells metadata once, just before the first other chunk, and the finish last with the last usage', () => {
    const usage = (candidatesTokenCount: number): JsonObject => ({
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount },
    });
    const { chunks } = read(
      { usageMetadata: { promptTokenCount: 3 }, responseId: 'r1' },
      frame([{ text: 'Hm', thought: true }, { text: 'Hi' }], {}, usage(1)),
      frame([{ text: '!' }], { finishReason: 'STOP' }, usage(2)),
      frame([], { finishReason: 'MAX_TOKENS' }, { usageMetadata: {} }),
    );
    expect(chunks).toEqual([
      { type: 'metadata', metadata: { responseId: 'r1', model: 'gemini-x' } },
      { type: 'thinking', text: 'Hm' },
      { type: 'text', text: 'Hi' },
      { type: 'text', text: '!' },
      { type: 'finish', reason: 'stop', rawReason: 'STOP', usage: { input: 3, output: 2, total: 5 } },
    ]);
  });

  it('ends for the last reason when the answer went on behind the first, as translators stamp STOP on chunks without content', () => {
    const said = frame([{ text: 'Rhine' }]);
    const { finish, text } = read(
      stop,
      said,
      call({ name: 'f', args: { a: 1 } }),
      frame([], { finishReason: 'MAX_TOKENS' }),
    );
    expect(text).toBe('Rhine');
    expect(finish).toMatchObject({ reason: 'length', rawReason: 'MAX_TOKENS' });
    expect(read(said, stop, frame([], { finishReason: 'OTHER' })).finish).toMatchObject({ reason: 'stop' });
  });

  it('takes no finish reason from FINISH_REASON_UNSPECIFIED', () => {
    const unspecified = frame([{ text: 'Rhi' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' });
    expect(read(unspecified, frame([], { finishReason: 'MAX_TOKENS' })).finish).toMatchObject({ reason: 'length' });
    expect(read(unspecified).error).toMatchObject({ code: 'stream_interrupted' });
  });

  it('keeps the counts that a later, shorter usage leaves out', () => {
    const full = { promptTokenCount: 3, candidatesTokenCount: 2, thoughtsTokenCount: 4, totalTokenCount: 9 };
    const { finish } = read(frame([{ text: 'a' }], {}, { usageMetadata: full }), stop, {
      usageMetadata: { promptTokenCount: 3 },
    });
    expect(finish?.usage).toEqual({ input: 3, output: 6, total: 9, reasoning: 4 });
  });

  it('counts thoughts as output, and the results of its own tools as input', () => {
    const counts = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 20,
      totalTokenCount: 42,
    };
    expect(read(frame([], { finishReason: 'STOP' }, { usageMetadata: counts })).finish?.usage).toEqual({
      input: 15,
      output: 27,
      total: 42,
      cachedInput: 4,
      reasoning: 20,
    });
  });

  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'contentFilter'],
    ['RECITATION', 'contentFilter'],
    ['BLOCKLIST', 'contentFilter'],
    ['PROHIBITED_CONTENT', 'contentFilter'],
    ['SPII', 'contentFilter'],
    ['IMAGE_SAFETY', 'contentFilter'],
    ['IMAGE_PROHIBITED_CONTENT', 'contentFilter'],
    ['LANGUAGE', 'other'],
    ['OTHER', 'other'],
    ['NO_IMAGE', 'other'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['UNEXPECTED_TOOL_CALL', 'error'],
    ['SOMETHING_NEW', 'other'],
  ])('ends for %s with %s', (word, reason) => {
    expect(read(frame([], { finishReason: word })).finish).toEqual({ type: 'finish', reason, rawReason: word });
  });

  it('says why an answer was not simply finished, and nothing of the kind of one that was', () => {
    const why = { finishMessage: 'Bad call', safetyRatings: [{ category: 'X' }] };
    expect(read(frame([], { finishReason: 'MALFORMED_FUNCTION_CALL', ...why })).chunks).toContainEqual({
      type: 'metadata',
      metadata: why,
    });
    expect(read(frame([], { finishReason: 'STOP', ...why })).chunks).not.toContainEqual({
      type: 'metadata',
      metadata: why,
    });
  });

  it('takes a refused prompt for a content filter', () => {
    const { finish, error } = read({ promptFeedback: { blockReason: 'SAFETY' } });
    expect(error).toBeUndefined();
    expect(finish).toEqual({ type: 'finish', reason: 'contentFilter', rawReason: 'SAFETY' });
  });

  it('is interrupted by an end without a finish reason, after what came', () => {
    const { text, error, finish } = read(frame([{ text: 'Half' }]));
    expect(text).toBe('Half');
    expect(finish).toBeUndefined();
    expect(error).toMatchObject({ code: 'stream_interrupted', provider: 'google', retryable: true });
  });

  it.each([
    [503, 'UNAVAILABLE', true],
    [429, 'RESOURCE_EXHAUSTED', true],
    [400, 'INVALID_ARGUMENT', false],
  ])('reports error %i in a stream, and whether it passes', (code, status, retryable) => {
    const { text, error } = read(frame([{ text: 'Half' }]), { error: { code, message: 'No.', status } });
    expect(text).toBe('Half');
    expect(error).toMatchObject({
      code: 'provider',
      providerCode: status,
      retryable,
      message: expect.stringContaining('No.') as unknown,
    });
  });
});

describe('google: calls', () => {
  it('gives a call at once when its part has a name and arguments', () => {
    const { chunks } = read(call({ name: 'f', args: { a: 1 } }), stop);
    expect(chunks).toContainEqual({ type: 'toolCallFragment', index: 0, name: 'f', arguments: { a: 1 }, done: true });
  });

  it('keeps equal calls without ids apart', () => {
    const twice = call({ name: 'f', args: { a: 1 } });
    expect(calls(twice, twice, call({ name: 'f' }), call({ name: 'f', args: {} }))).toEqual([
      ['f', { a: 1 }],
      ['f', { a: 1 }],
      ['f', {}],
      ['f', {}],
    ]);
  });

  it('joins arguments that come in several parts behind a name with empty ones', () => {
    expect(
      calls(
        call({ name: 'f', args: {} }),
        call({ args: { city: 'Oslo' } }),
        call({ args: { unit: 'C' } }),
        call({ name: 'g', args: { b: 2 } }),
        call({ name: 'h', id: 'x', args: {} }),
        call({ args: { c: 3 } }),
        call({ args: { d: 4 } }),
      ),
    ).toEqual([
      ['f', { city: 'Oslo', unit: 'C' }],
      ['g', { b: 2 }],
      ['h', { c: 3, d: 4 }],
    ]);
  });

  it('gives a call without arguments when the next one begins', () => {
    const { chunks } = read(call({ name: 'now', args: {} }), call({ name: 'f', args: { a: 1 } }), stop);
    expect(chunks.filter(({ type }) => type === 'toolCallFragment')).toEqual([
      { type: 'toolCallFragment', index: 0, name: 'now' },
      { type: 'toolCallFragment', index: 0, done: true },
      { type: 'toolCallFragment', index: 1, name: 'f', arguments: { a: 1 }, done: true },
    ]);
  });

  it('joins arguments at paths, with the name in each part or in the first', () => {
    const piece = (text: string, rest: JsonObject = {}) => ({
      partialArgs: [{ jsonPath: '$.text', stringValue: text }],
      ...rest,
    });
    expect(
      calls(
        call({ name: 'f', id: '1', ...piece('Hel', { willContinue: true }) }),
        call({ name: 'f', id: '1', ...piece('lo') }),
        call({ name: 'f', id: '2', ...piece('Bye') }),
        call({ name: 'g' }),
        call(piece('no ')),
        call(piece('marks')),
        call({}),
        call({ name: 'h', args: { seed: 1 }, willContinue: true }),
        call(piece('x')),
        call({ name: 'now' }),
      ),
    ).toEqual([
      ['f', { text: 'Hello' }],
      ['f', { text: 'Bye' }],
      ['g', { text: 'no marks' }],
      ['h', { seed: 1, text: 'x' }],
      ['now', {}],
    ]);
  });

  it('reads any path, also one that would reach the prototype or make a list of billions', () => {
    const args = [
      '$.__proto__.polluted',
      '$[\'a.b\']["c"]',
      '$.list[4000000000]',
      '$.list[1].deep',
      '$',
      '',
      'bare',
      '$.bad[*]',
    ];
    const partialArgs = [
      ...args.map((jsonPath) => ({ jsonPath, stringValue: 'v' })),
      { jsonPath: '$.none' },
      null,
      7,
    ] as JsonValue;
    const [[, found] = []] = calls(call({ name: 'f', partialArgs }));
    expect(found).toMatchObject({ 'a.b': { c: 'v' }, list: [{ deep: 'v' }, 'v'], bare: 'v' });
    expect(Object.keys(found as object)).toContain('__proto__');
    expect({}).not.toHaveProperty('polluted');
  });

  it.each(['MAX_TOKENS', 'SAFETY', 'MALFORMED_FUNCTION_CALL'])(
    'exposes no call whose arguments were cut by %s',
    (finishReason) => {
      const whole = call({ name: 'f', args: { a: 1 } });
      const half = call({ name: 'g', partialArgs: [{ jsonPath: '$.a', numberValue: 1 }], willContinue: true });
      expect(read(whole, half, frame([], { finishReason })).calls).toMatchObject([{ name: 'f' }]);
      expect(read(whole, half).calls).toMatchObject([{ name: 'f' }]);
    },
  );
});

describe('google: what goes back', () => {
  it('returns each signature on the call it came with, and an id only where there was one', () => {
    expect(
      replayed(
        frame([
          { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 's1' },
          { functionCall: { name: 'f', args: { a: 2 } } },
        ]),
        call({ id: 'x', name: 'g', args: {} }, { thoughtSignature: 's2' }),
        call({ name: 'h', willContinue: true }, { thoughtSignature: 's3' }),
        call({ partialArgs: [{ jsonPath: '$.b', boolValue: false }] }),
        stop,
      ),
    ).toEqual([
      { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 's1' },
      { functionCall: { name: 'f', args: { a: 2 } } },
      { functionCall: { id: 'x', name: 'g', args: {} }, thoughtSignature: 's2' },
      { functionCall: { name: 'h', args: { b: false } }, thoughtSignature: 's3' },
    ]);
  });

  it('returns the signature of a text on the very part, an empty one too', () => {
    const text = (part: string, thoughtSignature?: string) =>
      frame([{ text: part, ...(thoughtSignature ? { thoughtSignature } : {}) }]);
    expect(replayed(text('The '), text('sea'), text('', 's'), stop)).toEqual([
      { text: 'The sea' },
      { text: '', thoughtSignature: 's' },
    ]);
    expect(replayed(text('The '), text('sea', 's1'), text(' is'), text(' calm.', 's2'), text(' Ok'), stop)).toEqual([
      { text: 'The ' },
      { text: 'sea', thoughtSignature: 's1' },
      { text: ' is' },
      { text: ' calm.', thoughtSignature: 's2' },
      { text: ' Ok' },
    ]);
  });

  it('returns signed thoughts, code and its result in their places', () => {
    const thought = { text: 'Hm.', thought: true, thoughtSignature: 's' };
    const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } };
    const result = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } };
    const answer = [
      frame([thought, { text: 'I run it.' }]),
      frame([code]),
      frame([result]),
      frame([{ text: 'It is 1.' }]),
      stop,
    ] as const;
    expect(replayed(...answer)).toEqual([thought, { text: 'I run it.' }, code, result, { text: 'It is 1.' }]);
    const { chunks, text, thinking } = read(...answer);
    expect([thinking, text]).toEqual(['Hm.', 'I run it.It is 1.']);
    expect(chunks).toContainEqual({ type: 'metadata', metadata: code });
    expect(chunks).toContainEqual({ type: 'metadata', metadata: result });
  });

  it('makes no message of a signature without an answer, so that an empty reply is one', () => {
    expect(read(frame([{ text: '', thoughtSignature: 's' }]), stop).message).toBeUndefined();
  });
});

describe('google: files and sources', () => {
  it('gives files as files, signed ones with what goes back', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } };
    const { chunks } = read(
      frame([image, { ...image, thought: true }, { fileData: { mimeType: 'video/mp4', fileUri: 'https://x/y' } }]),
      stop,
    );
    expect(chunks.filter(({ type }) => type === 'file')).toEqual([
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'iVBORw0K' } },
      { type: 'file', file: { type: 'file', mediaType: 'video/mp4', url: 'https://x/y' } },
    ]);
    expect(replayed(frame([{ ...image, thoughtSignature: 's' }]), stop)).toEqual([{ ...image, thoughtSignature: 's' }]);
  });

  it('gives each source once, and the grounding as metadata before the finish', () => {
    const web = (uri: string) => ({ web: { uri, title: uri.slice(-1) } });
    const grounding = (...groundingChunks: JsonObject[]) => ({
      groundingMetadata: { groundingChunks, webSearchQueries: ['q'] },
    });
    const { chunks } = read(
      frame([{ text: 'a' }], { groundingMetadata: {} }),
      frame([], grounding(web('https://a'), { retrievedContext: { title: 'T', text: 'said' } })),
      frame([], {
        ...grounding(web('https://a'), web('https://b')),
        citationMetadata: { citationSources: [{ uri: 'https://b' }, { uri: 'https://c' }] },
        finishReason: 'STOP',
      }),
    );
    expect(chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source] : []))).toEqual([
      { type: 'source', url: 'https://a', title: 'a' },
      { type: 'source', title: 'T', text: 'said' },
      { type: 'source', url: 'https://b', title: 'b' },
      { type: 'source', url: 'https://c' },
    ]);
    expect(chunks.at(-2)).toEqual({
      type: 'metadata',
      metadata: {
        ...grounding(web('https://a'), web('https://b')),
        citationMetadata: { citationSources: [{ uri: 'https://b' }, { uri: 'https://c' }] },
      },
    });
  });
});

describe('google: whatever comes', () => {
  const odd = fc.oneof(fc.jsonValue(), fc.constant(null), fc.constant(''), fc.constant([]));
  const functionCall = fc.record(
    {
      name: odd,
      id: odd,
      args: odd,
      willContinue: odd,
      partialArgs: fc.array(fc.record({ jsonPath: odd, stringValue: odd }), { maxLength: 3 }),
    },
    { requiredKeys: [] },
  );
  const part = fc.record(
    { text: odd, thought: odd, thoughtSignature: odd, functionCall, inlineData: odd, executableCode: odd },
    { requiredKeys: [] },
  );
  const candidate = fc.record(
    {
      content: fc.oneof(odd, fc.record({ parts: fc.oneof(odd, fc.array(part)) })),
      finishReason: odd,
      groundingMetadata: odd,
      index: odd,
    },
    { requiredKeys: [] },
  );
  const anyFrame = fc.record(
    {
      candidates: fc.oneof(odd, fc.array(candidate)),
      usageMetadata: odd,
      promptFeedback: odd,
      error: odd,
      responseId: odd,
    },
    { requiredKeys: [] },
  );

  it('ends in one finish or in an error of ours, and can be sent back', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 5 }), (frames) => {
        const { chunks, error, message } = wholeAnswer(decodeGoogle, frames as JsonObject[]);
        const finishes = chunks.filter(({ type }) => type === 'finish').length;
        if (error === undefined) expect(finishes).toBe(1);
        else expect(['stream_interrupted', 'provider']).toContain((error as { code?: string }).code);
        if (message) expect(() => encodeGoogle('gemini-3', { messages: [userMessage('a'), message] })).not.toThrow();
      }),
    );
  });
});
