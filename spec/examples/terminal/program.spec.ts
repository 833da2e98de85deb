import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Subject } from 'rxjs';
import { registeredProviders } from 'rivulet/registry';
import { serveModel } from 'rivulet/testing/server';
import { runProgram } from '../../../examples/terminal/program.js';

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  /** Whether input and output are a terminal. Default: false. */
  readonly isTTY?: boolean;
  /** Sees the output so far, and may interrupt the program or type something. */
  readonly watch?: (out: string, interrupt: () => void, type: (keys: string) => void) => void;
}

/** Runs the program in this process, as `npm start` does, with a stand-in that answers without delay. */
async function start(args: readonly string[], { env = {}, isTTY = false, watch }: Options = {}): Promise<Ended> {
  const stream = () => Object.assign(new PassThrough(), { isTTY, columns: 100 });
  const [stdin, stdout, stderr, interrupts] = [stream(), stream(), stream(), new Subject<void>()];
  const written = { out: '', error: '' };
  stdout.setEncoding('utf8').on('data', (text: string) => {
    written.out += text;
    watch?.(
      written.out,
      () => interrupts.next(),
      (keys) => setImmediate(() => stdin.write(keys)), // as a person does: not while the prompt is drawn
    );
  });
  stderr.setEncoding('utf8').on('data', (text: string) => (written.error += text));
  const exit = () => interrupts.complete();
  const pace = { answer: 0, word: 0 };
  const code = await runProgram(args, { stdin, stdout, stderr, env, interrupts, exit, pace });
  await new Promise((resolve) => setImmediate(resolve)); // the streams emit what was written last
  return { code, ...written };
}

/** Without the sequences with which readline draws its prompt. */
// eslint-disable-next-line no-control-regex
const withoutEscapes = (text: string): string => text.replace(/\u001b\[\d*[A-Z]/g, '');

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('runProgram, without a terminal', () => {
  describe('offline', () => {
    const runs = new Map<string, Promise<Ended>>();
    beforeAll(() => {
      for (const { name } of registeredProviders()) runs.set(name, start(['--provider', name]));
    });

    it.each(registeredProviders().map(({ name, keyVariable }) => [name, keyVariable] as const))(
      'runProgram answers the built-in question in the wire format of %s, and prints how to connect to a real model',
      async (name, keyVariable) => {
        const { code, out, error } = (await runs.get(name)) ?? { code: null, out: '', error: 'not started' };
        expect({ code, error }).toEqual({ code: 0, error: '' });
        const lines = out.split('\n');
        const instruction = keyVariable === undefined ? 'pass --base-url http://localhost:11434' : `set ${keyVariable}`;
        expect(lines[0]).toMatch(/^Rivulet: offline: a scripted stand-in answers at http:\/\/127\.0\.0\.1:\d+/);
        expect(lines[0]).toContain(`; ${instruction} for a real model of ${name}.`);
        expect(lines).toEqual(
          expect.arrayContaining([
            'thinking: The cities are independent: I can ask for all at once.',
            'Let me look up Lisbon and Oslo.',
            '→ weather {"city":"Lisbon"}',
            '→ weather {"city":"Oslo"}',
            '  weather Oslo: asking the station',
            '✓ weather Lisbon: {"city":"Lisbon","celsius":16,"sky":"clear","wind":14}',
            '✓ weather Oslo: {"city":"Oslo","celsius":-3,"sky":"light snow","wind":9}',
            '✓ calculate 16 - (-3): 19',
            '→ read_file {"path":"examples/terminal/notes.md"}',
          ]),
        );
        expect(out).toContain('Lisbon is 19 degrees warmer than Oslo.');
        expect(out).toContain('"Two climates, a large difference: layers, and the coat in the hand luggage."');
        expect(lines.at(-2)).toMatch(/^\[4 turns, [\d,]+ tokens in, [\d,]+ tokens out\]$/);
        // eslint-disable-next-line no-control-regex
        expect(out).not.toMatch(/[\r\u001b⠋]/);
      },
      120_000, // all providers run at once
    );
  });

  it('runProgram draws its last run as a page with --draw', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'draw-')), 'run.html');
    const { code, out } = await start(['--draw', file, 'How much warmer is Lisbon than Oslo?']);
    expect(code).toBe(0);
    expect(out).toContain(`The last run is drawn in ${file}.`);
    const page = await readFile(file, 'utf8');
    expect(page).toContain('<title>How much warmer is Lisbon than Oslo?</title>');
    expect(page.match(/<b>weather<\/b>/g)).toHaveLength(2);
  });

  it('runProgram finds a provider by its alias and its key, and requests thinking unless --no-thinking is given', async () => {
    const server = await serveModel(['A river.', 'A lake.'], { apiKey: 'sk-for-the-spec' });
    const args = ['--provider', 'claude', '--base-url', server.urlFor('anthropic')];
    const env = { ANTHROPIC_API_KEY: 'sk-for-the-spec' };
    const first = await start([...args, 'Name one.'], { env });
    const second = await start([...args, '--no-thinking', 'Name one.'], { env });
    await server.close();
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(first.out).toContain('Rivulet: claude-sonnet-5-5 at http://127.0.0.1:');
    expect(first.out).toContain('A river.');
    expect(server.requests.map(({ body }) => body)).toMatchObject([
      { model: 'claude-sonnet-5-5', thinking: { type: 'adaptive' } },
      { model: 'claude-sonnet-5-5' },
    ]);
    expect(server.requests[1]?.body).not.toHaveProperty('thinking');
  });

  it('runProgram sends requests to Ollama at --base-url without a key', async () => {
    const server = await serveModel(['A pond.']);
    const { code, out } = await start(['--provider', 'ollama', '--base-url', server.urlFor('ollama'), 'Name one.']);
    await server.close();
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('A pond.') });
    expect(server.requests[0]).toMatchObject({ path: '/api/chat', body: { model: 'qwen3', think: true } });
    expect(server.requests[0]?.headers['authorization']).toBeUndefined();
  });

  it('runProgram sends the question to the provider when there is a key', async () => {
    const server = await serveModel(['A river.'], { apiKey: 'sk-for-the-spec' });
    const { code, out } = await start(['--model', 'm', '--base-url', server.url, 'Name', 'one.'], {
      env: { OPENAI_API_KEY: 'sk-for-the-spec' },
    });
    await server.close();
    expect({ code, out }).toEqual({
      code: 0,
      out: `Rivulet: m at ${server.url}\n\n> Name one.\n\nA river.\n[1 turn, unknown tokens in, unknown tokens out]\n`,
    });
    expect(server.requests[0]?.body).toMatchObject({
      model: 'm',
      messages: [{ role: 'system' }, { role: 'user', content: 'Name one.' }],
    });
  });

  it('runProgram speaks Responses to OpenAI, and Chat Completions to another server', async () => {
    expect((await start(['Hello'])).out).toContain('for a real model of openai.');
    const server = await serveModel(['A river.']);
    await start(['--base-url', server.url, 'Hello']);
    await server.close();
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  });

  it('runProgram sends no authorization when there is only --base-url', async () => {
    const server = await serveModel(['A lake.']);
    const { code, out } = await start(['--base-url', server.url, 'Name one.']);
    await server.close();
    expect(code).toBe(0);
    expect(out).toContain('A lake.');
    expect(server.requests[0]?.headers['authorization']).toBeUndefined();
  });

  it('runProgram returns 1 for a failed run and writes its message to stderr, without a stack and without the key', async () => {
    const key = 'sk-secret-of-the-spec';
    const { code, out, error } = await start(['--base-url', `http://127.0.0.1:${await closedPort()}/v1`, 'Hello'], {
      env: { OPENAI_API_KEY: key },
    });
    expect(code).toBe(1);
    expect(error).toMatch(
      /^failed: No connection to openai-chat at http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions: .*\n$/,
    );
    expect(out + error).not.toContain(key);
    expect(error).not.toMatch(/^\s+at /m);
  });

  it('runProgram ends an interrupted run with "stopped" and returns 130', async () => {
    const { code, out, error } = await start([], {
      watch: (soFar, interrupt) => {
        if (soFar.includes('→ weather') && !soFar.includes('stopped')) interrupt();
      },
    });
    expect(error).toBe('');
    expect(code).toBe(130);
    expect(out).toMatch(/→ weather .*\n✗ weather Lisbon: The call was not executed\.\nstopped\n\[1 turn.*\]\n$/s);
  });

  it('runProgram asks the model of --fallback when the first one fails, and says who answers', async () => {
    const server = await serveModel([], { failFirst: { status: 400, times: 1 } });
    const { code, out } = await start(['--base-url', server.url, '--fallback', 'claude', 'What is 20 + 22?']);
    await server.close();
    expect(code).toBe(0);
    expect(out).toMatch(/Fallback: offline: .*ANTHROPIC_API_KEY/);
    expect(out).toMatch(/answered by anthropic claude-sonnet-5-5\n.*→ calculate/s);
    expect(out).toContain('20 + 22 is 42.');
  });

  it('runProgram writes no file without a user who can be asked', async () => {
    const { code, out } = await start(['Write "Buy milk" to never-written.txt']);
    expect(code).toBe(0);
    expect(out).toMatch(/✗ write_file never-written\.txt: .*Nobody can be asked/);
    expect(out).toContain('I did not write never-written.txt.');
  });

  it('runProgram serves the page with --web, until it is interrupted', async () => {
    let page: Promise<string> | undefined;
    const { code, error } = await start(['--web'], {
      watch(out, interrupt) {
        const url = /Open (\S+)/.exec(out)?.[1];
        if (url === undefined || page) return;
        page = fetch(url).then((response) => response.text());
        void page.finally(interrupt);
      },
    });
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(await page).toMatch(/^<!doctype html>/);
  });

  it('runProgram returns 2 for a wrong option', async () => {
    expect(await start(['--modle', 'x'])).toEqual({ code: 2, out: '', error: expect.stringMatching(/--modle/) });
    expect(await start(['--base-url', 'localhost'])).toEqual({
      code: 2,
      out: '',
      error: expect.stringMatching(/"localhost" is not a URL/),
    });
    expect(await start(['--provider', 'opnai'])).toEqual({
      code: 2,
      out: '',
      error: expect.stringMatching(/no provider "opnai".*anthropic, .*cohere/),
    });
  });

  it('runProgram lists its options and the providers with --help', async () => {
    const { code, out, error } = await start(['--help']);
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(out).toMatch(/--provider NAME[^]*--model NAME[^]*--base-url URL/);
    expect(out).toMatch(/^ {2}anthropic +claude-sonnet-5-5 +ANTHROPIC_API_KEY$/m);
    expect(out).toMatch(/^ {2}ollama +qwen3 +no key: --base-url/m);
  });
});

describe('runProgram, on a terminal', () => {
  it.each([
    ['n', '✗ write_file', 'I did not write'],
    ['y', '✓ write_file', 'I wrote'],
  ])('runProgram asks the user before it writes a file, and obeys %j', async (answer, line, text) => {
    const file = `written-by-${process.pid}.txt`;
    const steps = [`Write "Buy milk" to ${file}\r`, `${answer}\r`, '\u0004'];
    let shown = 0;
    const { code, out } = await start([], {
      env: { TERM: 'dumb' },
      isTTY: true,
      watch: (soFar, _, type) => {
        const prompts = withoutEscapes(soFar).match(/^> /gm)?.length ?? 0;
        if (prompts > shown) type(steps[shown++] ?? '');
      },
    });
    await rm(file, { force: true });
    expect(code).toBe(0);
    expect(withoutEscapes(out)).toMatch(
      new RegExp(`\\? write_file {[^]*"${file}"[^]*}\nAllow it\\? y or n\n> ${answer}\r?\n`),
    );
    expect(withoutEscapes(out)).toContain(`${line} ${file}`);
    expect(withoutEscapes(out)).toContain(`${text} ${file}.`);
  });

  it('runProgram chats: it keeps the lines that are typed during an answer, and ends at Ctrl-D', async () => {
    const server = await serveModel(['A river.', 'A lake.']);
    // The second prompt is for the line that was typed during the first answer.
    const keys = new Map([
      [1, 'Name one.\rAnd another.\r'],
      [3, '\u0004'],
    ]);
    const { code, out } = await start(['--base-url', server.url], {
      env: { TERM: 'dumb' },
      isTTY: true,
      watch: (soFar, _, type) => {
        const prompts = withoutEscapes(soFar).match(/^> /gm)?.length ?? 0;
        if (keys.has(prompts)) type(keys.get(prompts) ?? '');
        keys.delete(prompts);
      },
    });
    await server.close();
    expect(code).toBe(0);
    expect(withoutEscapes(out)).toContain('A river.\n[1 turn');
    expect(withoutEscapes(out)).toContain('> And another.\nA lake.\n[1 turn');
    expect(server.requests[1]?.body).toMatchObject({
      messages: [
        { role: 'system' },
        { role: 'user', content: 'Name one.' },
        { role: 'assistant', content: 'A river.' },
        { role: 'user', content: 'And another.' },
      ],
    });
  });
});
