import { constants } from 'node:fs';
import { open, readdir, readlink, realpath, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
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
      const folder = await realpath(root);
      const place = await resolveInside(folder, path);
      const file = await openFile(path, place);
      try {
        await assertOpenedInside(folder, file, path, place);
        if ((await file.stat()).isDirectory()) throw await folderError(folder, file, path, place);
        return await readText(file, path, signal);
      } finally {
        await file.close();
      }
    },
  });

/** The real path, with every symbolic link followed, if it is inside the root. */
async function resolveInside(folder: string, path: string): Promise<string> {
  if (path.includes('\0')) throw new Error('A path cannot contain a NUL character. Send only the name of the file.');
  if (isAbsolute(path))
    throw new Error(`"${path}" is absolute. Paths are relative to the project's folder, like README.md.`);
  const wanted = resolve(folder, path);
  // Before the disk is read: the answer must not reveal whether a file outside exists.
  if (!isWithin(folder, wanted)) throw outsideError(path);
  const place = await realpath(wanted).catch((error: unknown) => Promise.reject(describeError(path, error)));
  if (!isWithin(folder, place)) throw outsideError(path);
  return place;
}

/**
 * The place of a new file inside a folder. The path has no `..` and no symbolic link: the user has read it, and has not
 * allowed another one.
 *
 * @throws Error when the place is outside the folder, or has another path.
 */
export async function resolveNewFile(root: string, path: string): Promise<string> {
  const folder = await realpath(root);
  const place = join(await resolveInside(folder, dirname(path)), basename(path));
  const actual = relative(folder, place).replaceAll(sep, '/');
  if (actual !== path)
    throw new Error(`"${path}" is the path of "${actual}". Send that path: the user has to read it.`);
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

/**
 * Checks what has been opened: a folder in the path may have become a symbolic link since the path was checked.
 *
 * @throws Error when the opened file is outside the folder, or is not the file at the path any more.
 */
async function assertOpenedInside(folder: string, file: FileHandle, path: string, place: string): Promise<void> {
  const actual = (await descriptorPath(file)) ?? (await pathOfSameFile(file, place));
  if (actual === undefined || !isWithin(folder, actual)) throw outsideError(path);
}

/** Linux knows where an open file is. */
const descriptorPath = (file: FileHandle): Promise<string | undefined> =>
  readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);

/** Elsewhere: the real path now, if it leads to the open file. */
async function pathOfSameFile(file: FileHandle, place: string): Promise<string | undefined> {
  const actual = await realpath(place).catch(() => undefined);
  const named = actual === undefined ? undefined : await stat(actual, { bigint: true }).catch(() => undefined);
  const opened = await file.stat({ bigint: true });
  return named?.dev === opened.dev && named.ino === opened.ino ? actual : undefined;
}

async function folderError(folder: string, file: FileHandle, path: string, place: string): Promise<Error> {
  const entries = await readdir(place, { withFileTypes: true });
  const listed = await pathOfSameFile(file, place); // the path was read once more: it may lead elsewhere now
  if (listed === undefined || !isWithin(folder, listed)) throw outsideError(path);
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
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
