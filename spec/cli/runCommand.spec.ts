import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { EMPTY, filter, firstValueFrom, NEVER, of, ReplaySubject, Subject, takeUntil, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from 'rivulet';
import type { Agent } from 'rivulet';
import { scriptedModel } from 'rivulet/testing';
import { runCommand } from '../../lib/cli/runCommand.js';
import { busyAgent, recordVirtually } from '../observe/recording/runs.js';

/** Runs a command with files in memory. */
async function run(
  args: readonly string[],
  files: Readonly<Record<string, string>> = {},
  options: {
    readonly hasColors?: boolean;
    readonly interrupts?: Observable<unknown>;
    readonly write?: (text: string) => void;
  } = {},
) {
  const written: Record<string, string> = {};
  let [output, errors] = ['', ''];
  const code = await runCommand(args, {
    readFile: (path) =>
      files[path] === undefined
        ? Promise.reject(new Error(`ENOENT: no such file: ${path}`))
        : Promise.resolve(files[path]),
    writeFile: (path, text) => Promise.resolve(void (written[path] = text)),
    write: (text) => void (output += text),
    writeError: (text) => void (errors += text),
    hasColors: false,
    hasErrorColors: false,
    interrupts: EMPTY,
    terminations: EMPTY,
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    env: {},
    ...options,
  });
  return { code, output, errors, written };
}

const fileOf = (lines: readonly string[]) => ({ 'run.jsonl': lines.join('\n') });

describe('npx rivulet replay', () => {
  it('npx rivulet replay prints a run with its tools, its retry and its result', async () => {
    const { lines } = recordVirtually(busyAgent());
    const { code, output } = await run(['replay', 'run.jsonl', '--speed', '1e9'], fileOf(lines));
    expect(code).toBe(0);
    expect(output).toBe(
      [
        '> How warm is it in Oslo?',
        'Two cities. Ask for both.',
        'Let me look.',
        '→ weather {"city":"Oslo"}',
        '→ weather {"city":"Atlantis"}',
        '  weather: asking the station of Oslo',
        '  weather: asking the station of Atlantis',
        '✓ weather: {"celsius":-3}',
        '✗ weather: There is no weather for Atlantis.',
        '',
        'It is ',
        '(the turn starts over)',
        'retry 1 in 400 ms: overloaded',
        '',
        'It is cold in Oslo.',
        '[stop, turns: 2, 320 tokens in, 42 out]',
        '',
      ].join('\n'),
    );
  });

  it('npx rivulet replay prints the failure of a run, and returns 1', async () => {
    const agent = createAgent({ model: scriptedModel([['Hello', { error: new Error('The server is busy.') }]]) });
    const { lines } = recordVirtually(agent);
    const { code, output } = await run(['replay', 'run.jsonl'], fileOf(lines));
    expect({ code, output }).toEqual({
      code: 1,
      output: '> How warm is it in Oslo?\nHello\nfailed: The server is busy.\n',
    });
  });

  it('npx rivulet replay says that a run was unsubscribed', async () => {
    const agent = createAgent({ model: scriptedModel([['Hello', { delay: 500 }, 'World']]) }) as unknown as Agent;
    const { lines } = recordVirtually(agent, (recorded) => recorded.stream('Hi').pipe(takeUntil(timer(5))));
    const { code, output } = await run(['replay', 'run.jsonl'], fileOf(lines));
    expect({ code, output }).toEqual({ code: 0, output: '> Hi\nHello\nunsubscribed\n' });
  });

  it('npx rivulet replay ends at Ctrl-C with 130', async () => {
    const { lines } = recordVirtually(busyAgent());
    expect(await run(['replay', 'run.jsonl'], fileOf(lines), { interrupts: of('SIGINT') })).toMatchObject({
      code: 130,
    });
  });

  it('npx rivulet replay removes the control characters of a model', async () => {
    const agent = createAgent({ model: scriptedModel([['a\u001b[31mb\u0007c\u009b2J']]) }) as unknown as Agent;
    const { lines } = recordVirtually(agent);
    const { output } = await run(['replay', 'run.jsonl'], fileOf(lines), { hasColors: true, interrupts: NEVER });
    expect(output).toContain('abc2J\n');
  });
});

describe('npx rivulet draw', () => {
  it('npx rivulet draw writes a page beside the recording, or where --out says', async () => {
    const { lines } = recordVirtually(busyAgent());
    const { code, output, written } = await run(['draw', 'run.jsonl'], fileOf(lines));
    expect({ code, output }).toEqual({ code: 0, output: 'run.html\n' });
    expect(written['run.html']).toMatch(/^<!doctype html>/);
    expect(Object.keys((await run(['draw', 'run.jsonl', '--out', 'a/b.htm'], fileOf(lines))).written)).toEqual([
      'a/b.htm',
    ]);
  });
});

describe('npx rivulet draw of a page', () => {
  it('npx rivulet draw never overwrites the recording that it reads', async () => {
    const { lines } = recordVirtually(busyAgent());
    const { code, errors, written } = await run(['draw', 'run.html'], { 'run.html': lines.join('\n') });
    expect({ code, errors, written }).toEqual({
      code: 2,
      errors: '"run.html" is the recording itself. Pass another file with --out.\n',
      written: {},
    });
  });
});

describe('npx rivulet spec', () => {
  const { lines } = recordVirtually(busyAgent());

  it('npx rivulet spec writes a spec that reads the recording, by a path relative to the spec', async () => {
    const { code, output, written } = await run(['spec', 'run.jsonl'], fileOf(lines));
    expect({ code, output }).toEqual({ code: 0, output: 'run.spec.ts\n' });
    expect(written['run.spec.ts']).toContain(`new URL("./run.jsonl", import.meta.url)`);
    const other = await run(['spec', 'run.jsonl', '--out', 'spec/a.spec.ts', '--runner', 'jest'], fileOf(lines));
    expect(other.written['spec/a.spec.ts']).toContain(`new URL("../run.jsonl", import.meta.url)`);
    expect(other.written['spec/a.spec.ts']).toContain("from '@jest/globals'");
  });

  it.each([
    'run #2.jsonl',
    'a?b.jsonl',
    '100%.jsonl',
    '..x.jsonl',
    'C:run.jsonl',
    '.hidden/run.jsonl',
    'a\nb.jsonl',
    'a\rb.jsonl',
    'a\tb.jsonl',
    'run ',
    'run\u0001',
  ])('npx rivulet spec writes a spec that finds the file %j', async (file) => {
    const { written } = await run(['spec', file, '--out', 'a.spec.ts'], { [file]: lines.join('\n') });
    const [, path = ''] = /new URL\((".*?"), import/.exec(written['a.spec.ts'] ?? '') ?? [];
    const { pathname } = new URL(JSON.parse(path) as string, 'file:///folder/a.spec.ts');
    expect(decodeURIComponent(pathname)).toBe(`/folder/${file}`);
  });

  it('npx rivulet spec writes marble diagrams with --marbles', async () => {
    const { written } = await run(['spec', 'run.jsonl', '--marbles'], fileOf(lines));
    expect(written['run.spec.ts']).toContain('playMarbles<Chunk>("180ms a');
  });

  it('npx rivulet spec explains an unknown runner', async () => {
    const { code, errors } = await run(['spec', 'run.jsonl', '--runner', 'mocha'], fileOf(lines));
    expect({ code, errors }).toEqual({ code: 2, errors: '--runner "mocha" is not jest, vitest or node.\n' });
  });
});

describe('npx rivulet inspect', () => {
  const { lines } = recordVirtually(busyAgent());

  it('npx rivulet inspect serves the runs of files until Ctrl-C, at an address with a token', async () => {
    const interrupts = new Subject<void>();
    const printed = new ReplaySubject<string>(Infinity);
    let list: unknown;
    const visited = firstValueFrom(printed.pipe(filter((text) => text.startsWith('Inspector:')))).then(async (text) => {
      const { origin, hash } = new URL(text.slice('Inspector: '.length));
      const response = await fetch(`${origin}/api/runs`, { headers: { authorization: `Bearer ${hash.slice(1)}` } });
      const { value } = (await response.body?.getReader().read()) ?? {};
      list = JSON.parse(new TextDecoder().decode(value));
      interrupts.next();
    });
    const shell = { interrupts, write: (text: string) => printed.next(text) };
    expect(await run(['inspect', '--port', '0', 'run.jsonl'], fileOf(lines), shell)).toMatchObject({ code: 0 });
    await visited;
    expect(list).toMatchObject([{ title: 'How warm is it in Oslo?', state: 'stop' }]);
  });
});

describe('runCommand', () => {
  it.each([
    [['replay'], 2, 'Pass the file of a recording.'],
    [['replay', 'a', 'b'], 2, 'Pass one file, not 2.'],
    [['replay', 'run.jsonl', '--speed', 'fast'], 2, '--speed "fast" is not a positive number.'],
    [['replay', 'run.jsonl', '--loud'], 2, "Unknown option '--loud'"],
    [['replay', 'other.jsonl'], 1, 'ENOENT'],
    [['replay', 'run.jsonl', '--run', '7'], 1, 'The recording has 1 runs, and this is run 7.'],
    [['inspect', '--port', 'x'], 2, '--port "x" is not a port'],
    [['inspect', '--allow', 'localhost'], 2, '--allow "localhost" is not the origin of a page'],
    [['inspect', 'other.jsonl'], 1, 'ENOENT'],
    [['play'], 2, 'There is no command "play".'],
    [['toString'], 2, 'There is no command "toString".'],
    [['draw', 'run.jsonl', '--out', './run.jsonl'], 2, '"./run.jsonl" is the recording itself.'],
    [['spec', 'run.jsonl', '--out', 'run.jsonl'], 2, 'Pass another file with --out.'],
    [['inspect', '--port', '0', 'empty.jsonl'], 1, 'empty.jsonl has no run. Pass a file with the lines of recordRun'],
  ])('runCommand explains %j', async (args, code, message) => {
    const { lines } = recordVirtually(busyAgent());
    const result = await run(args, { ...fileOf(lines), 'empty.jsonl': 'Hello' });
    expect(result).toMatchObject({ code, output: '' });
    expect(result.errors).toContain(message);
  });

  it.each([
    [[]],
    [['help']],
    [['-h']],
    [['--help']],
    [['chat', '--help']],
    [['chat', 'Hi', '-h']],
    [['replay', '--help']],
    [['inspect', '-h']],
  ])('runCommand prints its usage for %j', async (args) => {
    const result = await run(args);
    expect(result).toMatchObject({ code: 0, errors: '' });
    expect(result.output).toContain('replay FILE');
  });

  it('runCommand takes a file with the name of an option after "--"', async () => {
    expect(await run(['draw', '--', '--help'])).toMatchObject({ code: 1, output: '' });
  });
});
