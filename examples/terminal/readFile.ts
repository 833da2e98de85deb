import { constants } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { tool } from 'rivulet';
import * as z from 'zod';

/** The largest file given to the model, in bytes: some 16,000 tokens. */
const largest = 64 * 1024;

/** Of a folder's names, so many are told. */
const mostNames = 50;

/**
 * A tool that reads a text file under a folder, and nothing outside it.
 *
 * @param root The folder.
 */
export const readFile = (root: string) =>
  tool({
    name: 'read_file',
    description: 'Reads a text file of the project. The error for a folder names the files in it.',
    parameters: z.object({ path: z.string().describe("Relative to the project's folder, for example README.md") }),
    execute: async ({ path }, { signal }) => {
      const place = await located(root, path);
      const file = await opened(path, place);
      try {
        if ((await file.stat()).isDirectory()) throw await folder(path, place);
        return await textOf(file, path, signal);
      } finally {
        await file.close();
      }
    },
  });

/** The real place of a path, every symbolic link in it followed, if that is under the root. */
async function located(root: string, path: string): Promise<string> {
  if (path.includes('\0')) throw new Error('A path holds no NUL character. Send the name of the file alone.');
  if (isAbsolute(path))
    throw new Error(`"${path}" is absolute. Paths are relative to the project's folder, like README.md.`);
  const folder = await realpath(root);
  const wanted = resolve(folder, path);
  if (!isWithin(folder, wanted)) throw outside(path); // before the disk is asked: what is outside must not even be known to exist
  const place = await realpath(wanted).catch((error: unknown) => Promise.reject(explained(path, error)));
  if (!isWithin(folder, place)) throw outside(path);
  return place;
}

function isWithin(folder: string, place: string): boolean {
  const way = relative(folder, place);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

const outside = (path: string) =>
  new Error(
    `"${path}" is outside the project's folder. Only files under it can be read; name one by its path from there, like README.md.`,
  );

/** Without following links, which have all been followed, and without waiting: the open of a named pipe would block until somebody writes to it. */
async function opened(path: string, place: string): Promise<FileHandle> {
  return open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) =>
    Promise.reject(explained(path, error)),
  );
}

async function folder(path: string, place: string): Promise<Error> {
  const names = (await readdir(place, { withFileTypes: true })).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : '';
  return new Error(
    `"${path}" is a folder. It holds ${names.slice(0, mostNames).join(', ') || 'nothing'}${more}. Name a file in it.`,
  );
}

async function textOf(file: FileHandle, path: string, signal: AbortSignal): Promise<string> {
  const about = await file.stat();
  if (!about.isFile()) throw new Error(`"${path}" is a device or a pipe, not a file with text.`);
  const tooLarge = `"${path}" is larger than the ${largest} bytes that can be read. Name a smaller file.`;
  if (about.size > largest) throw new Error(tooLarge);
  signal.throwIfAborted();
  const { bytesRead, buffer } = await file.read(Buffer.alloc(largest + 1), 0, largest + 1, 0);
  if (bytesRead > largest) throw new Error(tooLarge); // it grew
  return decoded(buffer.subarray(0, bytesRead), path);
}

function decoded(bytes: Uint8Array, path: string): string {
  const binary = new Error(`"${path}" is not a text in UTF-8: an image, an archive or a program. Name a text file.`);
  if (bytes.includes(0)) throw binary;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw binary;
  }
}

/** What the system's codes mean for whoever sent the path. Its own messages name places that concern nobody. */
function explained(path: string, error: unknown): Error {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown error';
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new Error(`There is no file "${path}". Paths are relative to the project's folder, like README.md.`);
  if (code === 'ELOOP') return new Error(`"${path}" is a symbolic link that leads back to itself.`);
  return new Error(`"${path}" cannot be read: ${code}.`);
}
