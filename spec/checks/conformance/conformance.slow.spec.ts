import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  catchError,
  concat,
  firstValueFrom,
  ignoreElements,
  lastValueFrom,
  map,
  NEVER,
  of,
  tap,
  throwError,
  toArray,
} from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Chunk } from '../../../lib/core/chunk.js';
import { StreamInterruptedError } from '../../../lib/core/errors.js';
import type { Model } from '../../../lib/core/model.js';
import { openaiChat } from '../../../lib/providers/openaiChat.js';
import { openaiCompatible } from '../../../lib/providers/openaiCompatible.js';
import { isUnreadable } from './case.js';
import type { Body, Case } from './case.js';
import { differences } from './compare.js';
import { conform } from './conformance.js';
import { find } from './find.js';
import { observe } from './observe.js';
import { factoryOf, wireOf } from './providers.js';
import type { ModelFactory } from './providers.js';
import { quirks } from './quirks.js';
import { recording } from './recordings.js';
import { documentOf, linesOf, summaryOf } from './report.js';
import { runCase } from './runCase.js';
import type { Outcome } from './runCase.js';
import { variantsOf } from './variants.js';

// Some tests run a thousand variants of a case over sockets: on a busy machine that takes longer than jest's five
// seconds.
jest.setTimeout(60_000);

const data = (fields: unknown) => `data: ${JSON.stringify(fields)}\n\n`;
const delta = (fields: unknown, reason: string | null = null) =>
  data({ id: 'c1', choices: [{ index: 0, delta: fields, finish_reason: reason }] });

const frames = [
  delta({ role: 'assistant', content: '', reasoning_content: 'Look ' }),
  delta({ reasoning_content: 'it up.' }),
  delta({ content: 'Ålesund — ' }),
  delta({ content: '“now” 🌊!' }),
  delta({
    tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{"at":' } }],
  }),
  delta({ tool_calls: [{ index: 0, function: { arguments: '"Ålesund"}' } }] }),
  delta({}, 'tool_calls'),
  data({ id: 'c1', choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } }),
  'data: [DONE]\n\n',
];
const expected = {
  text: 'Ålesund — “now” 🌊!',
  thinking: 'Look it up.',
  toolCalls: [{ id: 'call_1', name: 'tide', arguments: { at: 'Ålesund' } }],
  finishReason: 'toolCalls',
  usage: { inputTokens: 11, outputTokens: 7 },
  error: false,
};
const cut = {
  frames: frames.slice(0, 5),
  expected: { toolCalls: [], finishReason: ['error', 'unspecified'], droppedPartial: true },
};

function quirk(fields: object = {}): Case {
  const [found] = quirks({ cases: [{ id: 'tide', wire: 'openai-chat', frames, expected, ...fields }] }, 'quirks.json');
  if (!found || isUnreadable(found)) throw new Error(`no case: ${found?.problem ?? 'nothing'}`);
  return found;
}

/** All framings, and one in twenty of the splits: `npm run conformance` runs all of them. */
const fewer = {
  variants: (body: Body) => variantsOf(body).filter(({ name }, at) => !/ split .*at \d+$/.test(name) || at % 20 === 0),
};
/** The first variants: enough for an error that does not depend on the cut. */
const first = { variants: (body: Body) => variantsOf(body).slice(0, 4) };

const fields = ({ differences: found }: Outcome) => found.map(({ field }) => field);

/** A factory of `openai` whose chunks are changed. */
const withChunks =
  (change: MonoTypeOperatorFunction<Chunk>): ModelFactory =>
  (name, options) => {
    const model = openaiChat(name, options);
    return { ...model, stream: (request) => model.stream(request).pipe(change) };
  };

/** A factory of `openai` that receives a body with changed bytes. */
const withBytes =
  (change: (chunk: Uint8Array) => Uint8Array): ModelFactory =>
  (name, options) =>
    openaiChat(name, {
      ...options,
      fetch: async (...to) => {
        const { body, headers } = await (options.fetch ?? fetch)(...to);
        const changed = new TransformStream<Uint8Array, Uint8Array>({
          transform: (chunk, out) => out.enqueue(change(chunk)),
        });
        return new Response(body?.pipeThrough(changed), { headers });
      },
    });

describe('runCase', () => {
  it('runCase passes a case whose output is as expected, in every framing and cut', async () => {
    const outcome = await runCase(quirk(), openaiChat);
    expect(outcome).toMatchObject({
      id: 'tide',
      wire: 'openai-chat',
      passed: true,
      failedVariants: 0,
      differences: [],
    });
    expect(outcome.variants).toBeGreaterThan(1000);
  });

  it.each([
    ['text', { text: 'Ålesund' }, 'text'],
    ['thinking', { thinking: '' }, 'thinking'],
    ['the name of a call', { toolCalls: [{ ...expected.toolCalls[0], name: 'ebb' }] }, 'toolCalls'],
    ['the arguments of a call', { toolCalls: [{ ...expected.toolCalls[0], arguments: {} }] }, 'toolCalls'],
    ['the id of a call', { toolCalls: [{ ...expected.toolCalls[0], id: 'call_2' }] }, 'toolCalls'],
    ['the number of calls', { toolCalls: [] }, 'toolCalls'],
    [
      'any of several lists of calls',
      { toolCalls: undefined, toolCallsAnyOf: [[], [...expected.toolCalls, ...expected.toolCalls]] },
      'toolCalls',
    ],
    ['a call that should have been dropped', { toolCalls: undefined, droppedPartial: true }, 'toolCalls'],
    ['finish reason', { finishReason: 'stop' }, 'finishReason'],
    ['a list of finish reasons', { finishReason: ['stop', 'length'] }, 'finishReason'],
    ['input tokens', { usage: { inputTokens: 12 } }, 'usage.input'],
    ['output tokens', { usage: { outputTokens: 8 } }, 'usage.output'],
    ['no usage', { usage: null }, 'usage'],
    ['an error', { error: true }, 'error'],
    ['an error with a text', { error: 'overloaded' }, 'error'],
    ['files', { files: [{ mediaType: 'image/png' }] }, 'files'],
    ['sources', { sources: [{ url: 'https://example.org' }] }, 'sources'],
  ])('runCase fails a case with another expectation: %s', async (_, wrong, field) => {
    const outcome = await runCase(quirk({ expected: { ...expected, ...wrong } }), openaiChat, first);
    expect(outcome.passed).toBe(false);
    expect(fields(outcome)).toContain(field);
    expect(linesOf(outcome)).toContain(`        ${field}`);
    expect(outcome.failedVariants).toBe(outcome.variants);
  });

  it('runCase does not compare fields that are absent from the expectation', async () => {
    expect((await runCase(quirk({ expected: {} }), openaiChat, first)).passed).toBe(true);
    expect(
      (await runCase(quirk({ expected: { toolCallsAnyOf: [[], expected.toolCalls] } }), openaiChat, first)).passed,
    ).toBe(true);
    const anyId = [{ ...expected.toolCalls[0], id: 'any' }];
    expect((await runCase(quirk({ expected: { toolCalls: anyId } }), openaiChat, first)).passed).toBe(true);
  });

  it('runCase accepts an interruption as the finish reasons error and unspecified only', async () => {
    const outcome = (finishReason: unknown) =>
      runCase(quirk({ ...cut, expected: { ...cut.expected, finishReason } }), openaiChat, first);
    expect((await outcome('error')).passed).toBe(true);
    expect((await outcome('unspecified')).passed).toBe(true);
    expect(fields(await outcome('stop'))).toEqual(['finishReason']);
  });

  it('runCase reports a connection that is reset, over a socket and through fetch', async () => {
    const broken = quirk({
      frames: [...frames.slice(0, 4), { end: 'reset' }],
      expected: { text: expected.text, error: true },
    });
    expect((await runCase(broken, openaiChat, first)).passed).toBe(true);
    const clean = { ...broken, expected: { text: expected.text, error: false } };
    expect(fields(await runCase(clean, openaiChat, first))).toEqual(['error']);
  });

  it('runCase extracts thinking from <think> tags if the case has the option', async () => {
    const compatible = openaiCompatible({ name: 'openai-chat', baseUrl: 'https://api.example/v1' });
    const tagged = { frames: [delta({ content: '<think>so</think>yes' }, 'stop'), 'data: [DONE]\n\n'] };
    const separate = { expected: { text: 'yes', thinking: 'so' }, options: { thinkTags: true } };
    expect((await runCase(quirk({ ...tagged, ...separate }), compatible, first)).passed).toBe(true);
    expect(fields(await runCase(quirk({ ...tagged, expected: separate.expected }), compatible, first))).toEqual([
      'text',
      'thinking',
    ]);
  });
});

describe('variantsOf', () => {
  const crlf = quirk({ frames: frames.map((frame) => frame.replaceAll('\n', '\r\n')) });
  const names = variantsOf(crlf.body).map(({ name }) => name);

  it('variantsOf starts with the original framing over HTTP, one write per frame', () => {
    expect(names[0]).toBe('original framing, HTTP, one write per frame');
    expect(variantsOf(crlf.body)[0]?.chunks).toHaveLength(frames.length);
  });

  it('variantsOf returns the same bytes in every cut of a framing', () => {
    const bodies = new Map<string, Set<string>>();
    for (const { name, chunks } of variantsOf(crlf.body)) {
      const framing = name.split(', HTTP')[0]?.split(', fetch')[0] ?? '';
      bodies.set(framing, (bodies.get(framing) ?? new Set()).add(Buffer.concat(chunks).toString('hex')));
    }
    expect([...bodies.values()].map(({ size }) => size)).toEqual([...bodies].map(() => 1));
  });

  it('variantsOf splits a small body at every byte, also inside characters and between CR and LF', () => {
    const length = Buffer.byteLength(crlf.body.writes.join(''));
    expect(names.filter((name) => /^original framing, fetch, split .*at \d+$/.test(name))).toHaveLength(length - 1);
    expect(names.filter((name) => name.includes('inside a character'))).not.toHaveLength(0);
    expect(names.filter((name) => name.includes('between CR and LF'))).not.toHaveLength(0);
  });

  it('variantsOf splits a long body at a bounded number of bytes, some inside characters and between CR and LF', () => {
    const long = variantsOf({
      ...crlf.body,
      writes: [data({ text: 'Ålesund '.repeat(5000) }).replaceAll('\n', '\r\n')],
    });
    expect(long.length).toBeLessThan(200);
    expect(long.filter(({ name }) => name.includes('inside a character'))).not.toHaveLength(0);
    expect(long.filter(({ name }) => name.includes('between CR and LF'))).not.toHaveLength(0);
  });

  it.each([
    'CRLF',
    'CR',
    'LF and CRLF mixed',
    'event names',
    'comments',
    'a byte order mark',
    'no space after the colon',
    'data in several lines',
    'id and retry fields',
  ])('variantsOf returns the framing "%s" over HTTP and through fetch', (framing) => {
    const framed = variantsOf(quirk().body).filter(({ name }) => name.startsWith(`${framing}, `));
    expect(new Set(framed.map(({ over }) => over))).toEqual(new Set(['http', 'fetch']));
  });

  it('variantsOf does not change the framing of a body that ends with an incomplete event', () => {
    const [own, ...others] = variantsOf({ ...quirk().body, writes: ['data: {"a":1}\n\n', 'data: {"b"'] });
    expect([own, ...others].every((variant) => variant?.name.startsWith('original framing'))).toBe(true);
  });

  it('variantsOf removes names of events only if the payloads contain them too', () => {
    const named = variantsOf({ ...quirk().body, writes: ['event: error\ndata: {"message":"no"}\n\n'] });
    expect(named.filter(({ name }) => name.startsWith('no event names'))).toEqual([]);
    const redundant = variantsOf({ ...quirk().body, writes: ['event: ping\ndata: {"type":"ping"}\n\n'] });
    expect(redundant.find(({ name }) => name.startsWith('no event names'))?.chunks.map(String)).toEqual([
      String(new TextEncoder().encode('data: {"type":"ping"}\n\n')),
    ]);
  });

  it('variantsOf varies the line ends and the blank lines of line-delimited JSON', () => {
    const lines = variantsOf({
      framing: 'ndjson',
      writes: ['{"a":1}\n', '{"b":2}\n'],
      reset: false,
      optionalDone: false,
    });
    const framings = new Set(lines.map(({ name }) => name.split(/, (?:HTTP|fetch)/)[0]));
    expect([...framings]).toEqual([
      'original framing',
      'CRLF',
      'LF and CRLF mixed',
      'blank lines',
      'a byte order mark',
      'no line end after the last line',
    ]);
  });
});

describe('runCase: errors', () => {
  it('runCase reports a decoder that drops a character', async () => {
    const lossy = withChunks(
      map((chunk) => (chunk.type === 'text' ? { ...chunk, text: chunk.text.replace('!', '') } : chunk)),
    );
    const outcome = await runCase(quirk(), lossy, first);
    expect(outcome).toMatchObject({
      passed: false,
      differences: [{ field: 'text', actual: 'Ålesund — “now” 🌊', expected: expected.text }],
    });
  });

  it('runCase reports a reader that decodes each chunk separately, in the cuts inside a character', async () => {
    const outcome = await runCase(
      quirk(),
      withBytes((chunk) => new TextEncoder().encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(chunk))),
    );
    expect(outcome.passed).toBe(false);
    expect(outcome.variant).toContain('fetch, byte by byte');
    expect(outcome.failedVariants).toBeGreaterThan(10);
    expect(outcome.failedVariants).toBeLessThan(outcome.variants / 2);
  });

  it('runCase reports a reader that does not support CRLF, over a real socket', async () => {
    const outcome = await runCase(
      quirk(),
      withBytes((chunk) => chunk.map((byte) => (byte === 13 ? 120 : byte))),
    );
    expect(outcome).toMatchObject({ passed: false, variant: 'CRLF, HTTP, one write per frame' });
  });

  it('runCase reports a difference between two cuts in a field without an expectation', async () => {
    let runs = 0;
    const fickle = withChunks(
      map((chunk) => (chunk.type === 'thinking' && ++runs > 20 ? { ...chunk, text: '?' } : chunk)),
    );
    const outcome = await runCase(quirk({ expected: { text: expected.text } }), fickle);
    expect(fields(outcome)).toEqual(['thinking (differs from the original framing)']);
  });

  it('runCase reports an incomplete call that is emitted', async () => {
    const pretending = withChunks(catchError(() => of<Chunk>({ type: 'finish', reason: 'stop' })));
    const outcome = await runCase(quirk({ ...cut, expected: { droppedPartial: true } }), pretending, first);
    expect(fields(outcome)).toEqual(['toolCalls', 'droppedPartial']);
  });

  const finish: Chunk = { type: 'finish', reason: 'stop' };
  const text: Chunk = { type: 'text', text: 'Hi' };
  const metadata: Chunk = { type: 'metadata', metadata: { model: 'm' } };
  it.each<[string, Observable<Chunk>, string]>([
    ['two finishes', of(text, finish, finish), '2 finish chunks'],
    ['a chunk after the finish', of(finish, text), 'after the finish'],
    ['no finish', of(text), 'completed without a finish'],
    [
      'an error after the finish',
      concat(
        of(text, finish),
        throwError(() => new Error('late')),
      ),
      'failed after its finish',
    ],
    ['the same metadata twice', of(metadata, metadata, finish), 'Metadata was emitted twice'],
  ])('observe reports a model that violates its contract: %s', async (_, stream, breach) => {
    const model: Model = { provider: 'mine', name: 'm', stream: () => stream };
    const observed = await firstValueFrom(observe(model, { messages: [] }));
    expect(differences({ expected: {} }, observed).map(({ actual }) => actual)).toEqual(
      expect.arrayContaining([expect.stringContaining(breach)]),
    );
  });

  it('observe reports a response that never ends', () => {
    const testing = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    testing.run(({ expectObservable, cold, expectSubscriptions }) => {
      const source = cold<Chunk>('a-', { a: text });
      const found = observe({ provider: 'mine', name: 'm', stream: () => source }, { messages: [] }, 20_000).pipe(
        map((observed) => differences({ expected: {} }, observed)),
      );
      expectObservable(found).toBe('20s (d|)', {
        d: [{ field: 'time', actual: 'no end within 20000 ms', expected: 'an end' }],
      });
      expectSubscriptions(source.subscriptions).toBe('^ 19999ms !');
    });
  });

  it('runCase runs no more variants after one that never ends', async () => {
    let asked = 0;
    const silent: ModelFactory = () => ({
      provider: 'mine',
      name: 'm',
      stream: () =>
        concat(
          of(text).pipe(
            tap(() => asked++),
            ignoreElements(),
          ),
          NEVER,
        ),
    });
    const outcome = await runCase(quirk(), silent, { limit: 1 });
    expect({ asked, fields: fields(outcome) }).toEqual({ asked: 1, fields: ['time'] });
  });

  it('runCase reports an error that differs from the expected one', async () => {
    const failing: ModelFactory = () => ({
      provider: 'mine',
      name: 'm',
      stream: () => throwError(() => new StreamInterruptedError('mine', 'gone')),
    });
    expect(fields(await runCase(quirk({ expected: { error: 'overloaded' } }), failing, first))).toEqual(['error']);
  });
});

describe('recording', () => {
  const payloads = frames
    .slice(0, -1)
    .map((frame) => frame.slice('data: '.length).trim())
    .join('\n');
  const expectation = {
    text: expected.text,
    reasoning: expected.thinking,
    toolCalls: expected.toolCalls,
    finishReason: 'tool-calls',
    usage: { input: 11, output: 7, reasoning: 0 },
    error: null,
  };
  const recorded = (change: object = {}, document: object = {}) => {
    const found = recording('here/openai-chat/tide', payloads, {
      protocol: 'openai-chat',
      expected: { ...expectation, ...change },
      ...document,
    });
    if (isUnreadable(found)) throw new Error(found.problem);
    return found;
  };

  it('recording translates the names of a recording', async () => {
    const outcome = await runCase(recorded(), openaiChat, first);
    expect(outcome).toMatchObject({ id: 'openai-chat/tide', wire: 'openai-chat', passed: true });
    expect(
      (await runCase(recorded({ finishReason: 'stop', finishReasonAlsoAccepted: ['tool-calls'] }), openaiChat, first))
        .passed,
    ).toBe(true);
    expect(
      (await runCase(recorded({ toolCalls: [{ ...expectation.toolCalls[0], id: null }] }), openaiChat, first)).passed,
    ).toBe(true);
  });

  it.each([
    [{ reasoning: 'no' }, 'thinking'],
    [{ finishReason: 'content-filter' }, 'finishReason'],
    [{ usage: null }, 'usage'],
    [{ usage: { reasoning: 3 } }, 'usage.reasoning'],
    [{ usage: { cacheRead: 3 } }, 'usage.cachedInput'],
    [{ usage: { cacheWrite: 3 } }, 'usage.cacheWriteInput'],
    [{ error: { message: 'overloaded' } }, 'error'],
  ])('recording reads the expectation %j', async (wrong, field) => {
    expect(fields(await runCase(recorded(wrong), openaiChat, first))).toContain(field);
  });

  it('recording reads the framing, and makes [DONE] optional after a finish reason', () => {
    const names = (found: Case) => new Set(variantsOf(found.body).map(({ name }) => name.split(/, (?:HTTP|fetch)/)[0]));
    expect(names(recorded()).has('no [DONE] at the end')).toBe(true);
    expect(names(recorded({ finishReason: 'unknown' })).has('no [DONE] at the end')).toBe(false);
    const framed = recorded(
      {},
      { framing: { kind: 'sse', eventNames: false, doneSentinel: true, lineEnds: 'CRLF', comments: [': hello'] } },
    );
    expect(framed.body.writes[0]).toBe(': hello\r\n\r\n');
    expect(framed.body.writes.at(-1)).toBe('data: [DONE]\r\n\r\n');
  });

  it('recording reports a recording without payloads, and a malformed expectation', () => {
    expect(recording('a/b', '\n', { expected: {} })).toMatchObject({ problem: 'b.chunks.txt contains no payload.' });
    expect(recording('a/b', '{}', { expected: { text: 1 } })).toMatchObject({
      problem: expect.stringContaining('expected.text'),
    });
  });
});

describe('conform', () => {
  let folder = '';
  const write = (name: string, content: unknown) =>
    writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  const run = (...paths: string[]) => lastValueFrom(conform(paths).pipe(toArray()));
  const problems = (outcomes: readonly Outcome[]) =>
    outcomes.flatMap((outcome) => outcome.differences.map(({ actual }) => actual));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('conform reports paths that do not exist or contain no case', async () => {
    const outcomes = await run(join(folder, 'nowhere'), folder);
    expect(outcomes.map(({ passed }) => passed)).toEqual([false, false]);
    expect(problems(outcomes)).toEqual([
      expect.stringContaining('There is nothing at'),
      expect.stringContaining('There is no case in'),
    ]);
  });

  it('conform reports files and cases that cannot be read, and runs the others', async () => {
    await write('broken.json', '{"cases": [');
    await write('lonely.expected.json', {});
    await write('notes.json', { some: 'thing else' });
    await write('quirks.json', {
      cases: [
        { id: 'good', wire: 'openai-chat', frames, expected },
        { id: 'bad', wire: 'openai-chat', frames: [1], expected },
        { id: 'strange', wire: 'carrier-pigeon', frames, expected },
        { id: 'unmeant', wire: 'openai-chat', frames, expected: { finishReason: 'because' } },
        'nothing',
      ],
    });
    const outcomes = await run(folder);
    expect(Object.fromEntries(outcomes.map(({ id, passed }) => [id, passed]))).toEqual({
      good: true,
      bad: false,
      strange: false,
      unmeant: false,
      'case 5': false,
      'broken.json': false,
      lonely: false,
    });
    expect(problems(outcomes)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('frames[0]'),
        expect.stringContaining('No provider reads the wire "carrier-pigeon"'),
        expect.stringContaining('expected.finishReason'),
        expect.stringContaining('lonely.chunks.txt'),
      ]),
    );
    expect(summaryOf(outcomes)).toBe('1 passed, 6 failed');
  });

  it('conform runs a case once if several paths contain it; each file of a recording is such a path', async () => {
    const file = 'spec/recordings/openai-chat/text';
    expect(await run(file, `${file}.expected.json`, `./${file}.chunks.txt`)).toEqual([
      expect.objectContaining({ id: 'openai-chat/text', passed: true }),
    ]);
  });

  it('the command prints the count last, exits with 1 after a failure, and writes the report', async () => {
    const good = join(folder, 'one.json');
    const json = join(folder, 'out', '..', 'report.json');
    await write('one.json', { cases: [{ id: 'good', wire: 'openai-chat', frames, expected }] });
    const command = (...args: string[]) =>
      promisify(execFile)('node_modules/.bin/tsx', ['spec/checks/conformance/main.ts', ...args]);
    const { stdout } = await command(good, '--json', join(folder, 'report.json'));
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('1 passed, 0 failed');
    expect(JSON.parse(await readFile(join(json), 'utf8'))).toMatchObject({
      cases: [
        {
          id: 'good',
          wire: 'openai-chat',
          source: good,
          text: expected.text,
          thinking: expected.thinking,
          toolCalls: expected.toolCalls,
          finishReason: 'toolCalls',
          usage: { input: 11, output: 7 },
          error: null,
          passed: true,
          differences: [],
        },
      ],
    });
    await expect(command(join(folder, 'nowhere'))).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/\n0 passed, 1 failed\n$/),
    });
    await expect(command('--nonsense')).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/\n0 passed, 1 failed\n$/),
    });
  });

  it('documentOf contains the error of a case, with its code', async () => {
    const outcome = await runCase(
      quirk({
        frames: [data({ error: { message: 'Overloaded', code: 'busy' } })],
        expected: { error: 'overloaded', finishReason: 'error' },
      }),
      openaiChat,
    );
    expect(documentOf([outcome]).cases[0]).toMatchObject({
      passed: true,
      finishReason: 'error',
      error: { name: 'ProviderError', code: 'provider', providerCode: 'busy' },
    });
  });
});

const shared = [
  '../shared/quirks/visible.json',
  '../shared/recordings',
  'spec/recordings/quirks',
  'spec/recordings/openai-chat',
].filter((path) => existsSync(path));
const cases = (await Promise.all(shared.map(find)))
  .flat()
  .filter(({ wire }) => wire === 'openai-chat' || wire === 'openai-compatible');

describe('conformance of Chat Completions', () => {
  it.each(cases.map((found) => [found.id, found] as const))(
    'openaiChat and openaiCompatible pass %s',
    async (_, found) => {
      if (isUnreadable(found)) throw new Error(found.problem);
      expect(linesOf(await runCase(found, await factoryOf(wireOf(found)), fewer))).toEqual([
        expect.stringMatching(/^passed/),
      ]);
    },
  );
});
