import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { createAgent } from 'rivulet';
import type { JsonObject, OfType, Part } from 'rivulet';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { writeFile } from '../../../examples/terminal/writeFile.js';

let root: string;
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'rivulet-'))));
afterEach(() => rm(root, { recursive: true }));

/** The result of a call of write_file that the user allows. */
async function call(args: JsonObject): Promise<OfType<Part, 'toolResult'> | undefined> {
  const model = scriptedModel([[toolCall('write_file', args)], 'Done.']);
  const approve = () => [{ approve: true as const }];
  const { messages } = await firstValueFrom(createAgent({ model, tools: [writeFile(root)], approve }).run('Write.'));
  return messages.flatMap(({ parts }) => parts).find((part) => part.type === 'toolResult');
}

describe('write_file', () => {
  it('write_file writes a new file', async () => {
    expect(await call({ path: 'todo.txt', text: 'Buy milk' })).toMatchObject({ result: 'todo.txt was written.' });
    expect(await readFile(join(root, 'todo.txt'), 'utf8')).toBe('Buy milk');
  });

  it('write_file never changes a file that exists', async () => {
    await call({ path: 'a.txt', text: 'first' });
    expect(await call({ path: 'a.txt', text: 'second' })).toMatchObject({ error: expect.stringContaining('exists') });
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('first');
  });

  it.each(['../outside.txt', '/tmp/outside.txt', 'link/outside.txt', 'missing/a.txt', 'a\0.txt'])(
    'write_file does not write %j',
    async (path) => {
      await symlink(tmpdir(), join(root, 'link'));
      expect(await call({ path, text: 'x' })).toHaveProperty('error');
    },
  );

  it.each([
    ['./a.txt', 'a.txt'],
    ['docs//a.txt', 'docs/a.txt'],
    ['docs/../a.txt', 'a.txt'],
    ['harmless.txt/../.npmrc', '.npmrc'],
    ['docs/a.txt/', 'docs/a.txt'],
    ['link/a.txt', 'docs/a.txt'],
  ])('write_file does not write %j to another path than the one that the user has read', async (path, actual) => {
    await mkdir(join(root, 'docs'));
    await symlink(join(root, 'docs'), join(root, 'link'));
    expect(await call({ path, text: 'x' })).toMatchObject({ error: expect.stringContaining(`"${actual}"`) });
    expect(await readdir(root, { recursive: true })).toEqual(['docs', 'link']);
  });

  it('write_file waits for the user', async () => {
    const model = scriptedModel([[toolCall('write_file', { path: 'a.txt', text: 'x' })]]);
    const { finishReason } = await firstValueFrom(createAgent({ model, tools: [writeFile(root)] }).run('Write.'));
    expect(finishReason).toBe('waiting');
  });
});
