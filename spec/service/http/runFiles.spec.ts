import { expect, it } from '@jest/globals';
import { lastValueFrom, of } from 'rxjs';
import { base64, bytesOfBase64, type FilePart } from '../../../lib/core/message.js';
import { textOfFile } from '../../../lib/providers/shared/files.js';
import type { StoredRun } from '../../../lib/service/ports/runStore.js';
import { fileResponse } from '../../../lib/service/http/runFiles.js';
import { shortestTime } from '../../support/cost.js';

const runWith = (file: FilePart): StoredRun => ({
  record: { id: 'r', owner: 'ann', state: 'ended', attempt: 1, updated: 0, input: [{ role: 'user', parts: [file] }] },
  version: 1,
});
const read = (file: FilePart) => fileResponse({ run: 'r', index: 0 }, 'ann', { find: () => of(runWith(file)) });
const fileOf = (mediaType: string, data: string): FilePart => ({ type: 'file', mediaType, data });

const readers: Readonly<Record<string, (data: string) => unknown>> = {
  bytesOfBase64,
  'the response with a file of a run': (data) => read(fileOf('image/png', data)).subscribe(),
  'the text of a file for a provider': (data) => textOfFile(fileOf('text/plain', data)),
};

// A photo held a service for seconds each time that a page showed it.
it.each(Object.entries(readers))('%s costs little more than the decoder of the platform', (_, reader) => {
  const data = base64(new Uint8Array(2_000_000).fill(97));
  expect(shortestTime(() => reader(data), 3)).toBeLessThan(12 * shortestTime(() => atob(data), 3) + 20);
});

it('a file of a run is answered with its bytes', async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const response = await lastValueFrom(read(fileOf('image/png', base64(bytes))));
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
});

it.each(['%', 'a', 'é'])('a file whose data are not Base64 (%p) is not there', async (data) => {
  await expect(lastValueFrom(read(fileOf('image/png', data)))).rejects.toMatchObject({ status: 404 });
});
