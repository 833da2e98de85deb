import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { EMPTY } from 'rxjs';
import { createSourceFile, forEachChild, isIdentifier, ScriptTarget } from 'typescript';
import type { Node } from 'typescript';
import { createAgent } from 'rivulet';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { runCommand } from '../../lib/cli/runCommand.js';
import { isRecord } from '../../lib/core/json/json.js';
import { drawRun, readRecording, writeSpec } from '../../lib/observe/recording/index.js';
import { recordVirtually, weather } from '../observe/recording/runs.js';

type Path = readonly (string | number)[];

const askingAgent = () =>
  createAgent({ model: scriptedModel([['Wait. ', toolCall('weather', { city: 'Oslo' })], 'Cold.']), tools: [weather] });

const recorded = recordVirtually(askingAgent()).lines.map((line): unknown => {
  const entry = JSON.parse(line) as Record<string, unknown>;
  if (entry['type'] === 'start') entry['answers'] = { decisions: { c9: { approve: true } }, results: {} };
  // A repetition does not have it, so that the spec is made of the recording itself.
  const { value } = entry;
  if (isRecord(value) && value['type'] === 'turn') return { ...entry, value: { ...value, usage: { input: 7 } } };
  return entry;
});

/** All texts and all names of a recording. */
function placesIn(value: unknown, path: Path = []): readonly { readonly path: Path; readonly isName: boolean }[] {
  if (typeof value === 'string') return [{ path, isName: false }];
  if (Array.isArray(value)) return value.flatMap((inner, index) => placesIn(inner, [...path, index]));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    { path: [...path, name], isName: true },
    ...placesIn(inner, [...path, name]),
  ]);
}

/** The recording with a text in one place. */
function recordingWith(path: Path, isName: boolean, text: string): string {
  const copy = structuredClone(recorded);
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], copy);
  const [fields, key] = [parent as Record<string, unknown>, String(path.at(-1))];
  if (isName) fields[text] = fields[key]; // beside the known one, without which the line is not read
  else fields[key] = text;
  return copy.map((entry) => JSON.stringify(entry)).join('\n');
}

/** Whether a spec parses, and has `pwned` only in texts. */
function isSafe(spec: string): boolean {
  const source = createSourceFile('a.ts', spec, ScriptTarget.Latest, true);
  const isCode = (node: Node): boolean =>
    (isIdentifier(node) && node.text === 'pwned') || forEachChild(node, isCode) === true;
  const { parseDiagnostics = [] } = source as unknown as { parseDiagnostics?: unknown[] };
  return parseDiagnostics.length === 0 && !isCode(source);
}

/** Each ends another kind of text. */
const payloads = [
  "'+pwned()+'`+pwned()+`${pwned()}*/pwned()/*\npwned()//</script><script>pwned()</script>",
  "[(pwned(),'y')]",
  '}; pwned(); ({',
];
const control = '\u001b]0;OWNED\u0007\u009b2J\u202e';

async function shell(args: readonly string[], files: Record<string, string>) {
  let output = '';
  const write = (text: string) => void (output += text);
  const code = await runCommand(args, {
    readFile: (path) => Promise.resolve(files[path] ?? ''),
    writeFile: (path, text, { isNew = false } = {}) =>
      isNew && files[path] !== undefined
        ? Promise.reject(Object.assign(new Error('It exists.'), { code: 'EEXIST' }))
        : Promise.resolve(void (files[path] = text)),
    write,
    writeError: write,
    hasColors: false,
    hasErrorColors: false,
    interrupts: EMPTY,
    terminations: EMPTY,
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    env: {},
  });
  return { code, output, files };
}

describe('foreign texts', () => {
  it.each(payloads)('writeSpec and drawRun keep a text of a recording a text, wherever it is: %s', (payload) => {
    for (const { path, isName } of placesIn(recorded)) {
      const text = recordingWith(path, isName, payload);
      const made = [
        specOf(() => writeSpec(readRecording(text))),
        specOf(() => writeSpec(readRecording(text), { fixture: './run.jsonl' })),
      ];
      expect({ path, areSafe: made.map(isSafe) }).toEqual({ path, areSafe: [true, true] });
      expect(specOf(() => drawRun(readRecording(text)))).not.toContain('<script>pwned');
    }
  });

  it.each([
    ['replay', 'run.jsonl', '--speed', '1e9'],
    ['draw', 'run.jsonl'],
    ['spec', 'run.jsonl', '--marbles'],
    [`spec${control}`],
    ['draw', `a${control}.jsonl`],
  ])('rivulet %s %s lets no text control the terminal', async (...args) => {
    const structural = new Set(['type', 'kind', 'recorder', 'role', 'of', 'field', 'name']);
    const everywhere = placesIn(recorded).filter(({ path, isName }) => !isName && !structural.has(String(path.at(-1))));
    const entries = structuredClone(recorded);
    for (const { path } of everywhere) {
      const parent = path.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], entries);
      const [fields, key] = [parent as Record<string, string>, String(path.at(-1))];
      fields[key] = `${fields[key]}${control}`;
    }
    const version = [{ ...(recorded[0] as object), version: `9${control}` }, ...recorded.slice(1)];
    for (const lines of [entries, version, recorded]) {
      const text = lines.map((entry) => JSON.stringify(entry)).join('\n');
      const { output } = await shell(args, { 'run.jsonl': text, [`a${control}.jsonl`]: text });
      // eslint-disable-next-line no-control-regex -- what a terminal obeys
      expect(output).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
      expect(output).not.toBe('');
    }
  });

  const text = recorded.map((entry) => JSON.stringify(entry)).join('\n');
  it.each([
    ['draw', 'run.html', 'mine', [], false],
    ['draw', 'run.html', 'mine', ['--force'], true],
    ['draw', 'run.html', 'mine', ['--out', 'run.html'], true],
    ['draw', 'run.html', drawRun(readRecording(text)), [], true],
    ['spec', 'run.spec.ts', 'mine', [], false],
    ['spec', 'run.spec.ts', writeSpec(readRecording(text)), [], false],
    ['spec', 'run.spec.ts', 'mine', ['--force'], true],
  ] as const)('rivulet %s keeps %s unless it is its own: "%.5s" %j', async (command, out, before, args, isReplaced) => {
    const files = { 'run.jsonl': text, [out]: before };
    const { code, output } = await shell([command, 'run.jsonl', ...args], files);
    expect(code).toBe(isReplaced ? 0 : 2);
    if (isReplaced) expect(files[out]).toContain(command === 'draw' ? '<html' : 'import');
    else expect(files[out]).toBe(before);
    expect(output).toContain(isReplaced ? out : `"${out}" exists. Pass --force`);
  });
});

/** The spec; none for a recording that is refused with a reason. */
function specOf(make: () => string): string {
  try {
    return make();
  } catch (thrown) {
    if ((thrown as Error).name === 'ConfigurationError') return '';
    throw thrown;
  }
}
