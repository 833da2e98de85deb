import * as actual from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

/** Runs between the check of a path and its opening, or between the opening and the listing of a folder. */
let beforeOpen = (): Promise<void> => Promise.resolve();
let beforeReaddir = beforeOpen;
let hasDescriptorPaths = true;

jest.unstable_mockModule('node:fs/promises', () => ({
  ...actual,
  open: async (...args: Parameters<typeof actual.open>) => {
    await beforeOpen();
    return actual.open(...args);
  },
  readdir: async (path: string) => {
    await beforeReaddir();
    return actual.readdir(path, { withFileTypes: true });
  },
  readlink: (path: string) => (hasDescriptorPaths ? actual.readlink(path) : Promise.reject(new Error('ENOENT'))),
}));
const { readFile } = await import('../../../examples/terminal/readFile.js');

describe.each([
  ['where /proc has the paths of descriptors', true],
  ['where it has not', false],
])('read_file, while a folder becomes a symbolic link, %s', (_, hasPaths) => {
  let folder: string;
  const swap = async () => {
    await actual.rename(join(folder, 'project', 'docs'), join(folder, 'project', 'old'));
    await actual.symlink('../private', join(folder, 'project', 'docs'));
  };
  const read = async (path: string): Promise<unknown> => {
    const tool = readFile(join(folder, 'project'));
    type Context = Parameters<NonNullable<typeof tool.execute>>[1];
    return tool.execute?.({ path }, { signal: new AbortController().signal } as Context);
  };

  beforeEach(async () => {
    hasDescriptorPaths = hasPaths;
    folder = await actual.mkdtemp(join(tmpdir(), 'rivulet-race-'));
    await actual.mkdir(join(folder, 'project', 'docs', 'sub'), { recursive: true });
    await actual.mkdir(join(folder, 'private', 'sub'), { recursive: true });
    await actual.writeFile(join(folder, 'project', 'docs', 'a.md'), 'public');
    await actual.writeFile(join(folder, 'private', 'a.md'), 'secret');
    await actual.writeFile(join(folder, 'private', 'sub', 'secret-name'), '');
  });
  afterEach(async () => {
    beforeOpen = beforeReaddir = () => Promise.resolve();
    await actual.rm(folder, { recursive: true });
  });

  it('read_file reads a file of a folder that stays a folder', async () => {
    expect(await read('docs/a.md')).toBe('public');
    await expect(read('docs/sub')).rejects.toThrow('"docs/sub" is a folder. It contains nothing.');
  });

  it('read_file does not read a file that is outside when it is opened', async () => {
    beforeOpen = swap;
    await expect(read('docs/a.md')).rejects.toThrow('is outside');
  });

  it('read_file does not list a folder that is outside when it is opened or listed', async () => {
    beforeReaddir = swap;
    await expect(read('docs/sub')).rejects.toThrow('is outside');
  });
});
