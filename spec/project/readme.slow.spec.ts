import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { config } from 'rxjs';
import ts from 'typescript';
import { readResults } from '../checks/bench/results.js';
import { withCapabilityTable } from '../support/capabilityTable.js';
import { serveAnswers, toServer } from '../support/documentAnswers.js';
import { expectedOutput, wrongOutput } from '../support/documentOutput.js';
import { speedSummary, speedTables, withSpeed } from '../support/speedTable.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';

/** The documents whose code is tested: the README, and the guides of docs/. */
const documents = [
  'README.md',
  ...(existsSync('docs') ? readdirSync('docs') : [])
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name))
    .sort(),
];

/**
 * The code blocks of a document: each is compiled with the strictest settings, and run with the loopback server. Blocks
 * with `peers` use other packages: `npm run guides` compiles and runs them. Those with `angular` are compiled by Angular:
 * `npm run test:angular`.
 */
const blocksOf = (document: string) =>
  [...readFileSync(document, 'utf8').matchAll(/^```ts(?!x? (?:peers|angular)\b)(.*)\n([\s\S]*?)^```$/gm)].map(
    ([, info, code], index) => ({
      document,
      info: info?.trim(),
      code: code ?? '',
      name: `${basename(document, '.md')}${index + 1}`,
      title:
        /^(?:const|agent|createAgent|import) .*$/m.exec((code ?? '').replace(/^import.*\n/gm, ''))?.[0] ??
        `block ${index + 1}`,
    }),
  );
const readme = blocksOf('README.md');
const blocks = documents.flatMap(blocksOf);
const folder = resolve('spec/.readme');
const fileOf = (name: string) => join(folder, `${name}.ts`);

describe('the code of the documents', () => {
  let server: LoopbackServer;
  const realFetch = globalThis.fetch;
  const key = process.env['OPENAI_API_KEY'];

  beforeAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    for (const { name, code } of blocks) writeFileSync(fileOf(name), code);
    server = await serveAnswers();
    process.env['OPENAI_API_KEY'] = 'sk-readme';
    globalThis.fetch = toServer(server.url, realFetch);
  });
  afterAll(async () => {
    globalThis.fetch = realFetch;
    if (key === undefined) delete process.env['OPENAI_API_KEY'];
    else process.env['OPENAI_API_KEY'] = key;
    rmSync(folder, { recursive: true, force: true });
    await server.close();
  });

  it('the README has six recipes in at most 15 KB', () => {
    expect(readme).toHaveLength(6);
    expect(readFileSync('README.md').length).toBeLessThanOrEqual(15_360);
  });

  it.each(documents)('%s has only code blocks that run', (document) => {
    expect(blocksOf(document).filter(({ info }) => info !== 'run')).toEqual([]);
  });

  it('the README shows the agent in less than 15 lines and the pipe in less than 30', () => {
    const lines = (index: number) => readme[index]?.code.split('\n').filter((line) => line.trim() !== '').length;
    expect(lines(0)).toBeLessThan(15);
    expect(readme[1]?.code).toContain('expand(');
    expect(lines(1)).toBeLessThan(30);
  });

  it('the guide shows the code of a Nest service in at most 60 lines', () => {
    const [, code = ''] =
      /^```ts peers\n([\s\S]*?)^\/\/ A page of each/m.exec(readFileSync('docs/operating.md', 'utf8')) ?? [];
    const lines = code.split('\n').filter((line) => line.trim() !== '');
    expect(lines.length).toBeLessThanOrEqual(60);
    for (const part of ['LoginGuard', 'tool(', 'observe:', 'Histogram', 'limits:', 'bodyLimit', 'shutdown()'])
      expect(code).toContain(part);
  });

  it('the Nest example has two questions in a payment tool of at most 25 lines', () => {
    const code = readFileSync('examples/nest-service/payment.ts', 'utf8');
    expect(code.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(25);
    expect([code.match(/\bask\(\{/g)?.length, code.match(/\bonce\('/g)?.length]).toEqual([2, 2]);
    expect(readFileSync('examples/nest-service/main.ts', 'utf8')).toContain('./payment');
  });

  it('the view of the guide is busy during each run, shows an error, and continues after it', () => {
    const views = blocksOf('docs/views.md').flatMap(({ code }) =>
      code.includes('busy') ? (expectedOutput(code).all ?? '').split('\n') : [],
    );
    expect(views.map((view) => JSON.parse(view) as unknown)).toEqual([
      { busy: true },
      { busy: true, city: {} }, // the first turn does not validate
      { busy: true, city: { name: 'Oslo' } },
      { busy: false, city: { name: 'Oslo' } },
      { busy: true },
      { busy: false, error: 'Out of words.' },
      { busy: true },
      { busy: true, city: { name: 'Rome' } },
      { busy: false, city: { name: 'Rome' } },
    ]);
  });

  it('the guide of the providers has an up-to-date table of capabilities (npm run readme writes it)', () => {
    const text = readFileSync('docs/providers.md', 'utf8');
    expect(withCapabilityTable(text)).toBe(text);
    expect(text).toContain('| `anthropic`, `claude` |');
  });

  it('the guide about performance has up-to-date tables of the benchmark (npm run readme writes them)', () => {
    const text = readFileSync('docs/performance.md', 'utf8');
    expect(withSpeed(text, speedSummary(readResults()))).toBe(text);
    const bench = readFileSync('spec/checks/bench/README.md', 'utf8');
    expect(withSpeed(bench, speedTables(readResults()))).toBe(bench);
    expect(text).toContain('| **Rivulet** |');
  });

  it('the code of all documents compiles', () => {
    const { options } = ts.parseJsonConfigFileContent(
      ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)).config,
      ts.sys,
      '.',
    );
    const program = ts.createProgram(
      blocks.map(({ name }) => fileOf(name)),
      { ...options, noUnusedLocals: true, declaration: false },
    );
    const problems = ts
      .getPreEmitDiagnostics(program)
      .map(({ file, messageText }) => `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
    expect(problems).toEqual([]);
  });

  it.each(blocks)(
    'the block "$title" of $document runs',
    async ({ name, code }) => {
      const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
      const write = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
      const before = server.requests.length;
      try {
        await import(fileOf(name));
        if (
          /(openai(Chat|Compatible)?|modelByName)\(/.test(code) &&
          /\.(stream|run)\(/.test(code) &&
          !/serveModel|webSocket/.test(code)
        )
          await settled(server, before + (code.includes('tool({') ? 2 : 1));
        const expected = expectedOutput(code);
        const printed = () =>
          [...log.mock.calls.map((args) => args.join(' ')), ...write.mock.calls.map(([text]) => String(text))].join(
            '\n',
          );
        // A block that does not await what it subscribes to is still at work.
        for (const end = Date.now() + 10_000; wrongOutput(expected, printed()) && Date.now() < end;)
          await new Promise((resolve) => setImmediate(resolve));
        expect(wrongOutput(expected, printed())).toBe(undefined);
      } finally {
        config.onUnhandledError = null; // a block may set it
        log.mockRestore();
        write.mockRestore();
      }
    },
    60_000,
  );
});

/** Waits until a block has made its requests, all responses have ended, and the work after the last one is done. */
async function settled(server: LoopbackServer, requests: number): Promise<void> {
  for (let quiet = 0; quiet < 20;) {
    await new Promise((resolve) => setImmediate(resolve));
    quiet = server.requests.length >= requests && server.connections === 0 ? quiet + 1 : 0;
  }
}
