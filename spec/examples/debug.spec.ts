import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { anthropic, userMessage } from 'rivulet';
import { toolCall, recordFetch } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';

const project = fileURLToPath(new URL('../..', import.meta.url));
const patience = 60_000;

interface Ended {
  readonly code: number;
  readonly lines: readonly string[];
  readonly error: string;
}

/** Runs an example as its npm script does, without any key. */
function start(example: string, ...args: readonly string[]): Promise<Ended> {
  const env = { PATH: process.env['PATH'] ?? '' };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', 'tsx', `examples/${example}/main.ts`, ...args],
      { cwd: project, env },
      (_, out, error) => resolve({ code: child.exitCode ?? -1, lines: out.split('\n').slice(0, -1), error }),
    );
  });
}

/** The lines without those of the wire. */
const said = ({ lines }: Ended) =>
  lines.filter((line) => !line.startsWith('wire ')).map((line) => line.replace(/ {2,}(?=\S)/g, '  ').trimEnd());

describe('npm run debug:streaming-tool-calls', () => {
  it(
    'shows a recording: each frame, the chunks made of it, and what each operator adds',
    async () => {
      const ended = await start(
        'debug-streaming-tool-calls',
        '--recording',
        'spec/recordings/openai-chat/parallel-tools',
      );
      expect(ended).toMatchObject({ code: 0, error: '' });
      expect(ended.lines[0]).toMatch(/^reading +spec\/recordings\/openai-chat\/parallel-tools, read as openai:/);
      const fragment = ended.lines.findIndex((line) => line.includes('toolCallFragment {"index":1'));
      expect(ended.lines[fragment - 1]).toMatch(/^wire +data: \{"id":.*…$/);
      expect(ended.lines.every((line) => line.length <= 160)).toBe(true);
      expect(said(ended)).toEqual(
        expect.arrayContaining([
          '  chunk  toolCallFragment {"index":0,"id":"call_tide","name":"tide_table","arguments":""}',
          '  accumulateToolCalls  toolCall {"id":"call_tide","name":"tide_table","arguments":{"harbour":"Brest"}}',
          expect.stringMatching(/^ {2}consolidate {2}message \{"message":\{"role":"model","parts":\[/),
          'complete',
        ]),
      );
    },
    patience,
  );

  it.each(['anthropic', 'ollama'])(
    'asks a stand-in in the wire format of %s where there is no key',
    async (provider) => {
      const ended = await start('debug-streaming-tool-calls', '--provider', provider);
      expect(ended).toMatchObject({ code: 0, error: '' });
      expect(ended.lines[0]).toContain(`${provider}:`);
      expect(ended.lines[0]).toContain('by a scripted stand-in');
      expect(said(ended).filter((line) => line.includes('accumulateToolCalls  toolCall '))).toHaveLength(2);
    },
    patience,
  );

  it(
    'shows an error after what came before it, and exits 1',
    async () => {
      const ended = await start(
        'debug-streaming-tool-calls',
        '--recording',
        'spec/recordings/anthropic/error-in-stream',
      );
      expect(ended.code).toBe(1);
      expect(ended.lines.at(-1)).toMatch(/^error +ProviderError: anthropic reported an error/);
    },
    patience,
  );

  it(
    'exits 2 for what there is not',
    async () => {
      expect(await start('debug-streaming-tool-calls', '--provider', 'nobody')).toMatchObject({
        code: 2,
        error: expect.stringContaining('There are: openai,'),
      });
      expect(await start('debug-streaming-tool-calls', '--recording', 'no/such')).toMatchObject({
        code: 2,
        error: expect.stringContaining('no/such'),
      });
    },
    patience,
  );
});

describe('npm run debug:tool-accumulation', () => {
  it(
    'shows how each call grows, from a recording that recordFetch made',
    async () => {
      const server = await serveModel([[toolCall('weather', { city: 'Oslo' }), toolCall('clock')]]);
      const recorder = recordFetch();
      const model = anthropic('claude-sonnet-4-5', {
        baseUrl: server.urlFor('anthropic'),
        apiKey: 'none',
        fetch: recorder.fetch,
      });
      await lastValueFrom(model.stream({ messages: [userMessage('Hello?')] }));
      await server.close();
      const folder = await mkdtemp(join(tmpdir(), 'rivulet-debug-'));
      const file = join(folder, 'answer.json');
      await writeFile(file, JSON.stringify(recorder.recording()));
      const ended = await start('debug-tool-accumulation', '--recording', file);
      await rm(folder, { recursive: true });
      expect(ended).toMatchObject({ code: 0, error: '' });
      expect(ended.lines[0]).toContain('read as anthropic:');
      const calls = said(ended).filter((line) => /^ +(call \d|whole|finish)/.test(line));
      expect(calls).toEqual(
        expect.arrayContaining([
          '  call 0  weather (call_1_1)',
          '  call 0  weather (call_1_1) {"city":"Oslo"}',
          '  whole  weather (call_1_1) {"city":"Oslo"}',
          '  whole  clock (call_1_2) {}',
          '  finish  toolCalls',
        ]),
      );
    },
    patience,
  );

  it(
    'says what it does with --help',
    async () => {
      expect(await start('debug-tool-accumulation', '--help')).toMatchObject({
        code: 0,
        lines: expect.arrayContaining([expect.stringContaining('--recording FILE')]),
      });
    },
    patience,
  );
});
