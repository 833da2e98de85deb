import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { registeredProviders } from 'rivulet/registry';
import { serveModel } from 'rivulet/testing/server';

const project = fileURLToPath(new URL('../..', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Runs the demo as `npm start` does, without a terminal. `watch` sees what was written so far. */
function start(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  watch: (out: string, child: ReturnType<typeof spawn>) => void = () => undefined,
): Promise<Ended> {
  const env = { PATH: process.env['PATH'] ?? '', ...environment };
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/terminal/main.ts', ...args], {
    cwd: project,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, error] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    watch(out, child);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (error += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, error })));
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('npm start, without a terminal', () => {
  const patience = 60_000;

  it(
    'runs its built-in question offline: says so, streams text, calls its tools, shows the usage, and exits 0',
    async () => {
      const { code, out, error } = await start([]);
      expect({ code, error }).toEqual({ code: 0, error: '' });
      const lines = out.split('\n');
      expect(lines[0]).toMatch(
        /^Rivulet: offline, a scripted stand-in answers at http:\/\/127\.0\.0\.1:\d+\/v1; set OPENAI_API_KEY/,
      );
      expect(lines).toEqual(
        expect.arrayContaining([
          'thinking: No city depends on the other: I can ask for all at once.',
          'Let me look up Lisbon and Oslo.',
          '→ weather {"city":"Lisbon"}',
          '→ weather {"city":"Oslo"}',
          '  weather Oslo: asking the station',
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
    patience,
  );

  describe('offline, for a provider', () => {
    const ended = new Map<string, Promise<Ended>>();
    beforeAll(() => {
      for (const { name } of registeredProviders()) ended.set(name, start(['--provider', name]));
    });

    it.each(registeredProviders().map(({ name, keyVariable }) => [name, keyVariable] as const))(
      '%s: runs the built-in question in its wire format, and says what makes it real',
      async (name, keyVariable) => {
        const { code, out, error } = (await ended.get(name)) ?? { code: null, out: '', error: 'not started' };
        expect({ code, error }).toEqual({ code: 0, error: '' });
        const lines = out.split('\n');
        const real = keyVariable === undefined ? 'pass --base-url http://localhost:11434' : `set ${keyVariable}`;
        expect(lines[0]).toMatch(/^Rivulet: offline, a scripted stand-in answers at http:\/\/127\.0\.0\.1:\d+/);
        expect(lines[0]).toContain(`; ${real} for a real model of ${name}.`);
        expect(lines).toEqual(
          expect.arrayContaining([
            'thinking: No city depends on the other: I can ask for all at once.',
            '→ weather {"city":"Lisbon"}',
            '→ weather {"city":"Oslo"}',
            '✓ weather Lisbon: {"city":"Lisbon","celsius":16,"sky":"clear","wind":14}',
            '✓ weather Oslo: {"city":"Oslo","celsius":-3,"sky":"light snow","wind":9}',
            '✓ calculate 16 - (-3): 19',
            '→ read_file {"path":"examples/terminal/notes.md"}',
          ]),
        );
        expect(out).toContain('Lisbon is 19 degrees warmer than Oslo.');
        expect(lines.at(-2)).toMatch(/^\[4 turns, [\d,]+ tokens in, [\d,]+ tokens out\]$/);
      },
      2 * patience,
    );
  });

  it(
    'asks any provider when there is its key, by any of its names, and asks it to think unless told not to',
    async () => {
      const server = await serveModel(['A river.', 'A lake.'], { apiKey: 'sk-for-the-spec' });
      const args = ['--provider', 'claude', '--base-url', server.urlFor('anthropic')];
      const environment = { ANTHROPIC_API_KEY: 'sk-for-the-spec' };
      const first = await start([...args, 'Name one.'], environment);
      const second = await start([...args, '--no-thinking', 'Name one.'], environment);
      await server.close();
      expect([first.code, second.code]).toEqual([0, 0]);
      expect(first.out).toContain('Rivulet: claude-sonnet-4-5 at http://127.0.0.1:');
      expect(first.out).toContain('A river.');
      expect(server.requests.map(({ body }) => body)).toMatchObject([
        { model: 'claude-sonnet-4-5', thinking: { type: 'enabled' } },
        { model: 'claude-sonnet-4-5' },
      ]);
      expect(server.requests[1]?.body).not.toHaveProperty('thinking');
    },
    patience,
  );

  it(
    'asks Ollama where there is an address: it needs no key',
    async () => {
      const server = await serveModel(['A pond.']);
      const { code, out } = await start(['--provider', 'ollama', '--base-url', server.urlFor('ollama'), 'Name one.']);
      await server.close();
      expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('A pond.') });
      expect(server.requests[0]).toMatchObject({ path: '/api/chat', body: { model: 'qwen3', think: true } });
      expect(server.requests[0]?.headers['authorization']).toBeUndefined();
    },
    patience,
  );

  it(
    'asks the provider when there is a key',
    async () => {
      const server = await serveModel(['A river.'], { apiKey: 'sk-for-the-spec' });
      const { code, out } = await start(['--model', 'm', '--base-url', server.url, 'Name', 'one.'], {
        OPENAI_API_KEY: 'sk-for-the-spec',
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
    },
    patience,
  );

  it(
    'asks a server without a key when there is only an address',
    async () => {
      const server = await serveModel(['A lake.']);
      const { code, out } = await start(['--base-url', server.url, 'Name one.']);
      await server.close();
      expect(code).toBe(0);
      expect(out).toContain('A lake.');
      expect(server.requests[0]?.headers['authorization']).toBeUndefined();
    },
    patience,
  );

  it(
    'exits 1 when it fails, with the message on stderr, without a stack and without the key',
    async () => {
      const key = 'sk-secret-of-the-spec';
      const { code, out, error } = await start(['--base-url', `http://127.0.0.1:${await closedPort()}/v1`, 'Hello'], {
        OPENAI_API_KEY: key,
      });
      expect(code).toBe(1);
      expect(error).toMatch(
        /^failed: No connection to openai at http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions: .*\n$/,
      );
      expect(out + error).not.toContain(key);
      expect(error).not.toMatch(/^\s+at /m);
    },
    patience,
  );

  it(
    'ends at Ctrl-C with "stopped" and 130',
    async () => {
      let interrupted = false;
      const { code, out } = await start([], {}, (soFar, child) => {
        if (interrupted || !soFar.includes('→ weather')) return;
        interrupted = child.kill('SIGINT');
      });
      expect(code).toBe(130);
      expect(out).toMatch(/→ weather .*\nstopped\n$/s);
    },
    patience,
  );

  it(
    'is quiet when its reader leaves early',
    async () => {
      const { code, error } = await start([], {}, (_, child) => child.stdout?.destroy());
      expect({ code, error }).toEqual({ code: 0, error: '' });
    },
    patience,
  );

  it(
    'exits 2 for an option that there is not, and shows its options with --help',
    async () => {
      const [unknown, address, provider, help] = await Promise.all(
        [['--modle', 'x'], ['--base-url', 'localhost'], ['--provider', 'opnai'], ['--help']].map((args) => start(args)),
      );
      expect(unknown).toMatchObject({ code: 2, out: '', error: expect.stringMatching(/--modle/) });
      expect(address).toMatchObject({ code: 2, out: '', error: expect.stringMatching(/"localhost" is no address/) });
      expect(provider).toMatchObject({
        code: 2,
        out: '',
        error: expect.stringMatching(/no provider "opnai".*anthropic, .*cohere/),
      });
      expect(help).toMatchObject({
        code: 0,
        error: '',
        out: expect.stringMatching(/--provider NAME[^]*--model NAME[^]*--base-url URL/),
      });
      expect(help?.out).toMatch(/^ {2}anthropic +claude-sonnet-4-5 +ANTHROPIC_API_KEY$/m);
      expect(help?.out).toMatch(/^ {2}ollama +qwen3 +no key: --base-url/m);
    },
    patience,
  );
});
