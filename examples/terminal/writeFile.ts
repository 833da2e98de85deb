import { writeFile as write } from 'node:fs/promises';
import { tool } from 'rivulet';
import * as z from 'zod';
import { resolveNewFile } from './readFile.js';

/**
 * Makes a tool that writes a new text file inside a folder. The user is asked before each call, and an existing file is
 * never changed.
 *
 * @param root The folder.
 */
export const writeFile = (root: string) =>
  tool({
    name: 'write_file',
    description: 'Writes a new text file of the project. It cannot change a file that exists.',
    parameters: z.object({
      path: z.string().describe("Relative to the project's folder, for example todo.txt"),
      text: z.string().max(10_000),
    }),
    needsApproval: true,
    execute: async ({ path, text }) => {
      const place = await resolveNewFile(root, path);
      await write(place, text, { flag: 'wx' }).catch((error: unknown) => Promise.reject(describeError(path, error)));
      return `${path} was written.`;
    },
  });

function describeError(path: string, error: unknown): Error {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown error';
  if (code === 'EEXIST') return new Error(`"${path}" exists. Choose another name: existing files are never changed.`);
  if (code === 'ENOENT') return new Error(`The folder of "${path}" does not exist.`);
  return new Error(`"${path}" cannot be written: ${code}.`);
}
