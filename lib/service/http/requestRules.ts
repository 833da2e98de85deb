import type { CallAnswers } from '../../core/approval.js';
import { isRecord } from '../../core/json/json.js';
import { RequestError } from './requestError.js';
import { requireAnswer } from '../../core/options.js';

/** Whether a user may change a call. */
export interface EditOptions {
  /**
   * Whether an approval may replace the arguments of its call: they are validated again, and the tool runs with them.
   * If not, such a decision is answered with 400, and the run keeps waiting. Default: true.
   */
  readonly allowEdits?: boolean | undefined;
}

/** @throws RequestError 400 if a decision changes its call without permission. */
export function rejectForbiddenEdits(decisions: CallAnswers['decisions'], { allowEdits = true }: EditOptions): void {
  const hasEdits = Object.values(decisions ?? {}).some(
    (decision: unknown) => isRecord(decision) && decision['arguments'] !== undefined,
  );
  if (hasEdits && !allowEdits)
    throw new RequestError(400, 'Approve or deny the call as it is: its arguments cannot be changed here.');
}

/** Options that say which files a request may name. */
export interface FileUrlOptions {
  /**
   * Whether the model's server may be sent the URL of a file that came in a request: in a prompt, or in a result that
   * the browser has sent. That server fetches it, from its own network. A request with another URL is answered with
   * 400. Default: only `https:`. The data of a file (`data:`) is not an address, and always allowed.
   */
  readonly allowFileUrl?: ((url: URL) => boolean) | undefined;
}

export function requireFileUrls(value: unknown, { allowFileUrl = isHttps }: FileUrlOptions): void {
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    // Not `push(...values)`: a list can be longer than the arguments of a call.
    if (typeof next === 'object' && next !== null) for (const inner of Object.values(next)) rest.push(inner);
    const { type, mediaType, url } = isRecord(next) ? next : {};
    if (type === 'file' && typeof mediaType === 'string' && typeof url === 'string' && !isAllowed(url, allowFileUrl))
      throw new RequestError(400, 'Send files as data, or with URLs that this service allows (https).');
  }
}

const isHttps = ({ protocol }: URL): boolean => protocol === 'https:';

function isAllowed(text: string, allowFileUrl: (url: URL) => boolean): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return url.protocol === 'data:' || (isReadAlike(text, url) && requireAnswer('allowFileUrl', allowFileUrl(url)));
}

/** Other readers find another host in `https://a.example\@b.example`, and a provider receives the text. */
const isReadAlike = (text: string, { host }: URL): boolean =>
  !/[\s\\\p{Cc}]/u.test(text) && (host === '' || /^[^:/?#]+:\/\/[^@/?#]+(?:[/?#]|$)/.test(text));
