import { asArray, isJsonObject, isRecord, objectOrEmpty, tryParseFinite } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { RequestError } from '../http/requestError.js';
import { isUnguessable } from '../../transport/randomId.js';
import type { ChatRecord } from './chatStore.js';

const MAX_TITLE_LENGTH = 200;
const DEFAULT_TITLE_LENGTH = 80;

/** @throws RequestError 400 */
export function readSave(text: string) {
  const { version, saved, restore, runs } = objectOrEmpty(tryParseFinite(text));
  const isVersion = typeof version === 'number' && Number.isSafeInteger(version) && version >= 0;
  if (!isVersion || !isJsonObject(saved) || !Array.isArray(saved['exchanges']) || saved['exchanges'].length === 0)
    throw new RequestError(
      400,
      'Send `version` and `saved`: what `save` of a conversation with a prompt has returned.',
    );
  return { version, saved, restore: restore === true, runs: asArray(runs).filter(isUnguessable) };
}

/** @throws RequestError 400 */
export function readTitle(text: string): string {
  const { title } = objectOrEmpty(tryParseFinite(text));
  const read = typeof title === 'string' ? titleFrom(title) : '';
  if (read === '') throw new RequestError(400, 'Send `title` as a text that is not empty.');
  return read;
}

/** One line without control characters. Empty if there is nothing to show. */
export const titleFrom = (text: string): string => shorten(text, MAX_TITLE_LENGTH);

export const defaultTitle = (prompt: string): string => shorten(prompt, DEFAULT_TITLE_LENGTH) || 'A new chat';

function shorten(text: string, length: number): string {
  const line = text.trim().split(/[\r\n]/, 1)[0] ?? '';
  const start = line
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, 2 * length + 2); // a line may have megabytes
  const characters = Array.from(start); // no half of a pair of surrogates
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : characters.join('');
}

/** A page may have written anything. */
export function promptOf({ exchanges }: JsonObject): string {
  const first = objectOrEmpty(Array.isArray(exchanges) ? exchanges[0] : undefined);
  const messages: readonly unknown[] = Array.isArray(first['input']) ? first['input'] : [];
  const parts = messages.flatMap((message) => {
    const list = objectOrEmpty(message)['parts'];
    return Array.isArray(list) ? (list as readonly unknown[]) : [];
  });
  return parts
    .filter(isRecord)
    .flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : []))
    .join('\n');
}

type ChatRuns = Pick<ChatRecord, 'saved' | 'earlierRuns'>;

/** The runs of a chat, each once: also those that its page has lost, and those that it could not stop. */
export const runsOf = ({ saved, earlierRuns = [] }: ChatRuns): ReadonlySet<string> =>
  new Set([
    ...earlierRuns,
    ...asArray(saved['exchanges']).flatMap((exchange) => {
      const { run, lost, stopping } = objectOrEmpty(exchange);
      return [run, objectOrEmpty(lost)['run'], stopping].filter(isUnguessable);
    }),
  ]);

const MAX_EARLIER_RUNS = 10_000;

/**
 * The runs that a chat has named, and that `saved` does not: those of exchanges for which there was no room.
 *
 * @throws RequestError 413
 */
export function earlierRuns(before: ChatRuns | undefined, saved: JsonObject, runs: readonly string[]) {
  const named = runsOf({ saved });
  const all = new Set([...(before ? runsOf(before) : []), ...runs]);
  const earlier = [...all].filter((run) => !named.has(run));
  if (earlier.length > MAX_EARLIER_RUNS)
    throw new RequestError(413, `The chat has had ${earlier.length} more runs than it names. Begin another chat.`);
  return { earlierRuns: earlier.length > 0 ? earlier : undefined };
}
