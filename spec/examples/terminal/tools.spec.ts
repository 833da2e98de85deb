import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, from, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { executeTools, toolDefinition } from 'rivulet';
import type { EventsOf, JsonObject, Tool } from 'rivulet';
import { calculate } from '../../../examples/terminal/calculate.js';
import { readFile } from '../../../examples/terminal/readFile.js';
import { tools } from '../../../examples/terminal/tools.js';
import { weather } from '../../../examples/terminal/weather.js';

type ResultOf = Extract<EventsOf<Tool>, { type: 'toolResult' }>;

/** The events of one call. */
function turn(tool: Tool, args: JsonObject) {
  const message = { role: 'model', parts: [{ type: 'toolCall', id: '1', name: tool.name, arguments: args }] } as const;
  return from([{ type: 'message', message } as const, { type: 'finish', reason: 'toolCalls' } as const]).pipe(
    executeTools([tool]),
  );
}

/** The result, or the error as text. */
async function answer(tool: Tool, args: JsonObject): Promise<unknown> {
  const events = await firstValueFrom(turn(tool, args).pipe(toArray()));
  const result = events.find((event): event is ResultOf => event.type === 'toolResult');
  return result?.error === undefined ? result?.result : `error: ${result.error}`;
}

describe('tools', () => {
  it('tools have definitions that a model accepts', () => {
    expect(tools.map(toolDefinition)).toMatchObject([
      { name: 'weather', parameters: { type: 'object', required: ['city'] } },
      { name: 'calculate', parameters: { type: 'object', required: ['expression'] } },
      { name: 'read_file', parameters: { type: 'object', required: ['path'] } },
      { name: 'write_file', parameters: { type: 'object', required: ['path', 'text'] } },
    ]);
  });
});

describe('weather', () => {
  it('weather reports its steps as progress', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ expectObservable }) => {
      expectObservable(turn(weather, { city: ' oslo ' }).pipe(filter((event) => event.type.startsWith('tool')))).toBe(
        '(sa) 196ms b 199ms c 199ms (r|)',
        {
          s: { type: 'toolStart', id: '1', name: 'weather', arguments: { city: ' oslo ' } },
          a: { type: 'toolProgress', id: '1', name: 'weather', value: 'looking up Oslo' },
          b: { type: 'toolProgress', id: '1', name: 'weather', value: 'asking the station' },
          c: { type: 'toolProgress', id: '1', name: 'weather', value: 'reading its instruments' },
          r: {
            type: 'toolResult',
            id: '1',
            name: 'weather',
            result: { city: 'Oslo', celsius: -3, sky: 'light snow', wind: 9 },
          },
        },
      );
    });
  });

  it('weather lists its cities when it does not know one', async () => {
    expect(await answer(weather, { city: 'Atlantis' })).toMatch(
      /^error: There is no weather for "Atlantis". Known cities: Oslo, .*Sydney\.$/,
    );
  });
});

describe('calculate', () => {
  it.each([
    ['16 - (-3)', 19],
    ['0.1 + 0.2', 0.3],
    ['-2^2 + 10 % 4', -2],
    ['round(sqrt(2) * pi, 2)', 4.44],
    ['max(1, 2, 3)!', 6],
  ])('calculate computes %s', async (expression, value) => expect(await answer(calculate, { expression })).toBe(value));

  it.each([
    'import({})',
    'evaluate("1")',
    'parse("1")',
    'createUnit("x")',
    'x = 1',
    'f(x) = x',
    '"a"',
    '[1, 2]',
    '1:3',
    'true',
    'a',
    '1; 2',
    '2 > 1',
    'random()',
    'sqrt',
    '',
  ])('calculate rejects %s, which is not arithmetic', async (expression) =>
    expect(await answer(calculate, { expression })).toMatch(/^error: /),
  );

  it.each([
    'constructor',
    '__proto__',
    '"".constructor("return process")',
    'sqrt.constructor("x")',
    'toString()',
    'hasOwnProperty(1)',
  ])('calculate does not reach JavaScript through %s', async (expression) =>
    expect(await answer(calculate, { expression })).toMatch(/^error: .*is not arithmetic/),
  );

  it.each(['1 / 0', 'sqrt(-1)', '9^9^9'])('calculate rejects %s, which is not finite', async (expression) =>
    expect(await answer(calculate, { expression })).toMatch(/not a finite number/),
  );

  it('calculate does not parse an expression that is too long', async () => {
    expect(await answer(calculate, { expression: '('.repeat(100_000) })).toMatch(
      /^error: Invalid arguments: expression: /,
    );
  });
});

describe('read_file', () => {
  let folder: string;
  let read: (path: string) => Promise<unknown>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rivulet-terminal-'));
    const root = join(folder, 'project');
    await mkdir(join(root, 'docs'), { recursive: true });
    await mkdir(join(root, '..dots'));
    await mkdir(join(folder, 'project-2'));
    await writeFile(join(folder, 'secret.txt'), 'secret');
    await writeFile(join(folder, 'project-2', 'secret.txt'), 'secret');
    await writeFile(join(root, 'docs', 'a.md'), 'Grüße\n');
    await writeFile(join(root, '..dots', 'b.md'), 'b');
    await writeFile(join(root, 'empty'), '');
    await writeFile(join(root, 'full.txt'), 'x'.repeat(64 * 1024));
    await writeFile(join(root, 'huge.txt'), 'x'.repeat(64 * 1024 + 1));
    await writeFile(join(root, 'zeros.txt'), new Uint8Array(10));
    await writeFile(join(root, 'image.png'), Uint8Array.of(0x89, 0x50, 0x4e, 0x47));
    await symlink('docs/a.md', join(root, 'inside.md'));
    await symlink('../secret.txt', join(root, 'outside.txt'));
    await symlink(folder, join(root, 'up'));
    await symlink('/dev/zero', join(root, 'endless'));
    await symlink('loop', join(root, 'loop'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    await symlink(root, join(folder, 'link-to-project'));
    read = (path) => answer(readFile(join(folder, 'link-to-project')), { path });
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ['docs/a.md', 'Grüße\n'],
    ['./docs/../docs/a.md', 'Grüße\n'],
    ['inside.md', 'Grüße\n'],
    ['..dots/b.md', 'b'],
    ['empty', ''],
  ])('read_file reads %s', async (path, text) => expect(await read(path)).toBe(text));

  it.each([
    '../secret.txt',
    'docs/../../secret.txt',
    '../project-2/secret.txt',
    '..',
    '../nothing',
    'outside.txt',
    'up/secret.txt',
    'up',
    'endless',
  ])('read_file reads nothing outside its folder: %s', async (path) =>
    expect(await read(path)).toBe(
      `error: "${path}" is outside the project's folder. Only files inside it can be read, by their path from there, ` +
        'like README.md.',
    ),
  );

  it.each([
    ['/etc/passwd', /is absolute\. Paths are relative to the project's folder/],
    ['docs/a.md\0.png', /cannot contain a NUL character/],
    ['docs', /"docs" is a folder\. It contains a\.md\. Name a file in it\./],
    ['.', /is a folder\. It contains .*docs\/.*\. Name a file in it\./],
    ['huge.txt', /is larger than the 65536 bytes that can be read/],
    ['zeros.txt', /is not a text in UTF-8/],
    ['image.png', /is not a text in UTF-8/],
    ['nothing.md', /There is no file "nothing\.md"/],
    ['docs/a.md/b', /There is no file/],
    ['loop', /leads back to itself/],
    ['pipe', /is a device or a pipe/],
    ['a'.repeat(300), /cannot be read: ENAMETOOLONG/],
  ])('read_file explains why it cannot read %s', async (path, error) => expect(await read(path)).toMatch(error));

  it('read_file reads a file of exactly the maximum size', async () =>
    expect(await read('full.txt')).toHaveLength(64 * 1024));
});
