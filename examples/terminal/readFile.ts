import { constants } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { tool } from 'rivulet';
import * as z from 'zod';

/** The largest file that the tool returns, in bytes: about 16,000 tokens. */
const maxBytes = 64 * 1024;

/** How many names of a folder the error lists. */
const maxNames = 50;

/**
 * Makes a tool that reads text files inside a folder, and nothing outside it.
 *
 * @param root The folder.
 */
export const readFile = (root: string) =>
  tool({
    name: 'read_file',
    description: 'Reads a text file of the project. For a folder, the error lists its files.',
    parameters: z.object({ path: z.string().describe("Relative to the project's folder, for example README.md") }),
    execute: async ({ path }, { signal }) => {
      const place = await resolveInside(root, path);
      const file = await openFile(path, place);
      try {
        if ((await file.stat()).isDirectory()) throw await folderError(path, place);
        return await readText(file, path, signal);
      } finally {
        await file.close();
      }
    },
  });

/** The real path, with every symbolic link followed, if it is inside the root. */
async function resolveInside(root: string, path: string): Promise<string> {
  if (path.includes('\0')) throw new Error('A path cannot contain a NUL character. Send only the name of the file.');
  if (isAbsolute(path))
    throw new Error(`"${path}" is absolute. Paths are relative to the project's folder, like README.md.`);
  const folder = await realpath(root);
  const wanted = resolve(folder, path);
  // Before the disk is read: the answer must not reveal whether a file outside exists.
  if (!isWithin(folder, wanted)) throw outsideError(path);
  const place = await realpath(wanted).catch((error: unknown) => Promise.reject(describeError(path, error)));
  if (!isWithin(folder, place)) throw outsideError(path);
  return place;
}

function isWithin(folder: string, place: string): boolean {
  const path = relative(folder, place);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

const outsideError = (path: string) =>
  new Error(
    `"${path}" is outside the project's folder. Only files inside it can be read, by their path from there, ` +
      'like README.md.',
  );

/** Follows no link, since all have been followed, and does not block: opening a named pipe would wait for a writer. */
async function openFile(path: string, place: string): Promise<FileHandle> {
  return open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) =>
    Promise.reject(describeError(path, error)),
  );
}

async function folderError(path: string, place: string): Promise<Error> {
  const names = (await readdir(place, { withFileTypes: true })).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : '';
  return new Error(
    `"${path}" is a folder. It contains ${names.slice(0, maxNames).join(', ') || 'nothing'}${more}. Name a file in it.`,
  );
}

async function readText(file: FileHandle, path: string, signal: AbortSignal): Promise<string> {
  const about = await file.stat();
  if (!about.isFile()) throw new Error(`"${path}" is a device or a pipe, not a file with text.`);
  const tooLarge = `"${path}" is larger than the ${maxBytes} bytes that can be read. Name a smaller file.`;
  if (about.size > maxBytes) throw new Error(tooLarge);
  signal.throwIfAborted();
  const { bytesRead, buffer } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
  if (bytesRead > maxBytes) throw new Error(tooLarge); // it grew after `stat`
  return decodeUtf8(buffer.subarray(0, bytesRead), path);
}

function decodeUtf8(bytes: Uint8Array, path: string): string {
  const binary = new Error(`"${path}" is not a text in UTF-8: an image, an archive or a program. Name a text file.`);
  if (bytes.includes(0)) throw binary;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw binary;
  }
}

/** Translates the system's error codes. Its own messages contain absolute paths, which the model must not see. */
function describeError(path: string, error: unknown): Error {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown error';
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new Error(`There is no file "${path}". Paths are relative to the project's folder, like README.md.`);
  if (code === 'ELOOP') return new Error(`"${path}" is a symbolic link that leads back to itself.`);
  return new Error(`"${path}" cannot be read: ${code}.`);
}
