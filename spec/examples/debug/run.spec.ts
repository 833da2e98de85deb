import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { anthropic, userMessage } from 'rivulet';
import { toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import { recordFetch } from 'rivulet/recording';
import { accumulation } from '../../../examples/debug-tool-accumulation/accumulation.js';
import { operators } from '../../../examples/debug-streaming-tool-calls/operators.js';
import { run } from '../../../examples/debug/run.js';
import type { Debugger } from '../../../examples/debug/run.js';

interface Ended {
  readonly code: number;
  readonly lines: readonly string[];
  readonly error: string;
}

/** Runs a debugging program in this process, without any key. */
async function start(program: Debugger, ...args: readonly string[]): Promise<Ended> {
  let [out, error] = ['', ''];
  const stdout = { write: (text: string) => (out += text) };
  const stderr = { write: (text: string) => (error += text) };
  const code = await run(program, args, { stdout, stderr, env: {} });
  return { code, lines: out.split('\n').slice(0, -1), error };
}

/** The lines without those of the wire. */
const withoutWire = ({ lines }: Ended) =>
  lines.filter((line) => !line.startsWith('wire ')).map((line) => line.replace(/ {2,}(?=\S)/g, '  ').trimEnd());

describe('run, with operators', () => {
  it('run prints a recording: each frame, the chunks that are decoded from it, and what each operator adds', async () => {
    const ended = await start(operators, '--recording', 'spec/recordings/openai-chat/parallel-tools');
    expect(ended).toMatchObject({ code: 0, error: '' });
    expect(ended.lines[0]).toMatch(/^reading +spec\/recordings\/openai-chat\/parallel-tools as openai-chat:/);
    const fragment = ended.lines.findIndex((line) => line.includes('toolCallFragment {"index":1'));
    expect(ended.lines[fragment - 1]).toMatch(/^wire +data: \{"id":.*…$/);
    expect(ended.lines.every((line) => line.length <= 160)).toBe(true);
    expect(withoutWire(ended)).toEqual(
      expect.arrayContaining([
        '  chunk  toolCallFragment {"index":0,"id":"call_tide","name":"tide_table","arguments":""}',
        '  accumulateToolCalls  toolCall {"id":"call_tide","name":"tide_table","arguments":{"harbour":"Brest"}}',
        expect.stringMatching(/^ {2}consolidate {2}message \{"message":\{"role":"model","parts":\[/),
        'complete',
      ]),
    );
  });

  it.each(['anthropic', 'ollama'])(
    'run asks a stand-in in the wire format of %s where there is no key',
    async (provider) => {
      const ended = await start(operators, '--provider', provider);
      expect(ended).toMatchObject({ code: 0, error: '' });
      expect(ended.lines[0]).toContain(`${provider}:`);
      expect(ended.lines[0]).toContain('from a scripted stand-in');
      expect(withoutWire(ended).filter((line) => line.includes('accumulateToolCalls  toolCall '))).toHaveLength(2);
    },
  );

  it('run prints an error after the output that preceded it, and returns 1', async () => {
    const ended = await start(operators, '--recording', 'spec/recordings/anthropic/error-in-stream');
    expect(ended.code).toBe(1);
    expect(ended.lines.at(-1)).toMatch(/^error +ProviderError: anthropic reported an error/);
  });

  it('run returns 2 for an unknown provider and a missing recording', async () => {
    expect(await start(operators, '--provider', 'nobody')).toMatchObject({
      code: 2,
      error: expect.stringContaining('are: openai, openai-chat,'),
    });
    expect(await start(operators, '--recording', 'no/such')).toMatchObject({
      code: 2,
      error: expect.stringContaining('no/such'),
    });
  });
});

describe.each([
  ['operators', operators],
  ['accumulation', accumulation],
])('run, with %s and hostile text', (_, program) => {
  const evil = '\u001b[2J\u009b31mred\u061c\u202e';
  const printable = /^(?!.*[\p{Cc}\p{Bidi_Control}])/u;

  it('run prints no control and no direction characters of an answer', async () => {
    const call = { index: 0, id: evil, function: { name: evil, arguments: JSON.stringify({ [evil]: evil }) } };
    const deltas = [{ content: evil }, { tool_calls: [call] }];
    const frames = deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`);
    const finish = 'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n';
    const folder = await mkdtemp(join(tmpdir(), 'rivulet-debug-'));
    const file = join(folder, 'hostile.json');
    await writeFile(file, JSON.stringify([`: ${evil}\n\n`, ...frames, finish]));
    const { code, lines } = await start(program, '--recording', file, '--provider', 'openai-chat');
    await rm(folder, { recursive: true });
    expect(code).toBe(0);
    expect(lines.filter((line) => line.includes('red')).length).toBeGreaterThan(3);
    for (const line of lines) expect(line).toMatch(printable);
  });

  it('run prints no control and no direction characters of an error', async () => {
    const ended = await start(program, '--provider', evil);
    expect(ended.error).toContain('red');
    expect(ended.error.trimEnd()).toMatch(printable);
  });
});

describe('run, with accumulation', () => {
  it('run prints how each call grows, from a recording that recordFetch made', async () => {
    const server = await serveModel([[toolCall('weather', { city: 'Oslo' }), toolCall('clock')]]);
    const recorder = recordFetch();
    const model = anthropic('claude-sonnet-5-5', {
      baseUrl: server.urlFor('anthropic'),
      apiKey: 'none',
      fetch: recorder.fetch,
    });
    await lastValueFrom(model.stream({ messages: [userMessage('Hello?')] }));
    await server.close();
    const folder = await mkdtemp(join(tmpdir(), 'rivulet-debug-'));
    const file = join(folder, 'answer.json');
    await writeFile(file, JSON.stringify(recorder.recording()));
    const ended = await start(accumulation, '--recording', file);
    await rm(folder, { recursive: true });
    expect(ended).toMatchObject({ code: 0, error: '' });
    expect(ended.lines[0]).toContain('as anthropic:');
    const calls = withoutWire(ended).filter((line) => /^ +(call \d|complete|finish)/.test(line));
    expect(calls).toEqual(
      expect.arrayContaining([
        '  call 0  weather (call_1_1)',
        '  call 0  weather (call_1_1) {"city":"Oslo"}',
        '  complete  weather (call_1_1) {"city":"Oslo"}',
        '  complete  clock (call_1_2) {}',
        '  finish  toolCalls',
      ]),
    );
  });

  it('run prints the usage and the options with --help', async () => {
    expect(await start(accumulation, '--help')).toMatchObject({
      code: 0,
      lines: expect.arrayContaining([accumulation.usage, expect.stringContaining('--recording FILE')]),
    });
  });
});
