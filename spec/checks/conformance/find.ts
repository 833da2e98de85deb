import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorText } from '../../../lib/core/errors.js';
import type { Found } from './case.js';
import { isQuirks, quirks } from './quirks.js';
import { recording } from './recordings.js';

const chunksEnd = '.chunks.txt';
const expectedEnd = '.expected.json';

/**
 * Finds the cases at a path: a quirks file, a recording (one of its two files, or their common stem), or a folder, with
 * its subfolders.
 *
 * @returns The cases in the order of their paths, and a problem for each file that cannot be read and for a path
 * without cases.
 */
export async function find(path: string): Promise<readonly Found[]> {
  const kind = await kindOf(path);
  if (kind === 'nothing') {
    const stem = path.replace(/\.$/, '');
    if ((await kindOf(stem + expectedEnd)) === 'file' || (await kindOf(stem + chunksEnd)) === 'file')
      return [await readRecording(stem)];
    return [{ id: path, source: path, problem: `There is nothing at ${path}.` }];
  }
  const found = kind === 'folder' ? await inFolder(path) : await readNamed(path);
  return found.length > 0
    ? found
    : [
        {
          id: path,
          source: path,
          problem: `There is no case in ${path}: neither a JSON file with "cases" nor a *${expectedEnd} with its *${chunksEnd}.`,
        },
      ];
}

async function kindOf(path: string): Promise<'folder' | 'file' | 'nothing'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch {
    return 'nothing'; // a path that is not accessible cannot be read either: the caller reports it
  }
}

/** Reads a file that was named explicitly: it must contain a case. */
async function readNamed(path: string): Promise<readonly Found[]> {
  const stem = stemOf(path);
  return stem === undefined ? readQuirks(path, true) : [await readRecording(stem)];
}

async function inFolder(folder: string): Promise<readonly Found[]> {
  let names: readonly string[];
  try {
    names = await readdir(folder, { recursive: true });
  } catch (error) {
    return [{ id: folder, source: folder, problem: `The folder cannot be read: ${errorText(error)}.` }];
  }
  const files = names.filter((name) => !/(^|[\\/])node_modules[\\/]/.test(name)).sort();
  const stems = new Set(files.flatMap((name) => stemOf(join(folder, name)) ?? []));
  const others = files
    .filter((name) => name.endsWith('.json') && stemOf(name) === undefined)
    .map((name) => join(folder, name));
  const found = await Promise.all([
    ...[...stems].map(async (stem) => [await readRecording(stem)]),
    ...others.map((file) => readQuirks(file, false)),
  ]);
  return found.flat();
}

function stemOf(path: string): string | undefined {
  return [chunksEnd, expectedEnd].flatMap((end) => (path.endsWith(end) ? [path.slice(0, -end.length)] : []))[0];
}

/** Reads a quirks file. Other JSON files in a folder are ignored. */
async function readQuirks(path: string, named: boolean): Promise<readonly Found[]> {
  try {
    const document: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (isQuirks(document)) return quirks(document, path);
    return named ? [{ id: basename(path), source: path, problem: `${path} has no list "cases".` }] : [];
  } catch (error) {
    return [{ id: basename(path), source: path, problem: `${path} cannot be read: ${errorText(error)}.` }];
  }
}

async function readRecording(stem: string): Promise<Found> {
  try {
    const [chunks, expected] = await Promise.all([
      readFile(stem + chunksEnd, 'utf8'),
      readFile(stem + expectedEnd, 'utf8'),
    ]);
    return recording(stem, chunks, JSON.parse(expected));
  } catch (error) {
    return {
      id: basename(stem),
      source: stem + expectedEnd,
      problem: `The recording cannot be read: ${errorText(error)}.`,
    };
  }
}
