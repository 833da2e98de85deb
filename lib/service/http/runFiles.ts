import { map, type Observable } from 'rxjs';
import type { RunAccess } from '../runs/runAccess.js';
import { filesIn, readFileAddress, type RunFile } from '../../transport/runFiles.js';
import { bytesOfBase64, type FilePart, type Message, type Part } from '../../core/message.js';
import { RequestError } from './requestError.js';
import type { RunRecord, StoredRun } from '../ports/runStore.js';

/** Types that a browser shows without executing anything. Others are downloaded: the page may have sent any type. */
const shownTypes = /^(?:image\/(?:png|jpeg|gif|webp|avif)|(?:audio|video)\/[\w.+-]+)$/;

const filesOf = ({ input, result, failure }: RunRecord): readonly FilePart[] =>
  filesIn([...input, ...((result ?? failure)?.messages ?? [])]);

/** Answers a request for a file of a run. */
export const fileResponse = (
  file: RunFile,
  owner: string,
  access: Pick<RunAccess<unknown>, 'find'>,
): Observable<Response> =>
  access.find(file.run, owner).pipe(map((run) => toResponse(run && filesOf(run.record)[file.index])));

function toResponse(file: FilePart | undefined): Response {
  const bytes = file?.data === undefined ? undefined : bytesOfBase64(file.data);
  if (!file || !bytes) throw fileNotFound('There is no such file.');
  const isShown = shownTypes.test(file.mediaType);
  return new Response(bytes, {
    headers: {
      'content-type': isShown ? file.mediaType : 'application/octet-stream',
      'content-disposition': isShown ? 'inline' : 'attachment',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, max-age=86400, immutable',
    },
  });
}

/** The ids of the runs whose files are named in messages. */
export const runsOfFiles = (messages: readonly Message[]): readonly string[] =>
  filesIn(messages).flatMap(({ url }) => readFileAddress(url ?? '')?.run ?? []);

export const withoutRunFiles = (messages: readonly Message[]): readonly Message[] =>
  messages
    .map((message) => ({
      ...message,
      parts: message.parts.filter((part) => part.type !== 'file' || !readFileAddress(part.url ?? '')),
    }))
    .filter(({ parts }) => parts.length > 0);

/** Puts the files of earlier runs in the place of their addresses, each once: they are not larger than these runs. */
export function insertFiles(messages: readonly Message[], runs: ReadonlyMap<string, StoredRun>): readonly Message[] {
  const files = new Map([...runs].map(([id, { record }]) => [id, filesOf(record)] as const));
  const inserted = new Set<Part>();
  const insert = (part: Part): Part => {
    const named = part.type === 'file' ? readFileAddress(part.url ?? '') : undefined;
    if (!named) return part;
    const file = files.get(named.run)?.[named.index];
    if (file?.data === undefined) throw fileNotFound('A file of this prompt is no longer here. Attach it again.');
    if (inserted.has(file)) throw new RequestError(400, 'Name each file of earlier runs once.');
    inserted.add(file);
    return file;
  };
  return messages.map((message) => ({ ...message, parts: message.parts.map(insert) }));
}

const fileNotFound = (message: string) => new RequestError(404, message, {}, { code: 'file_not_found' });
