import { catchError, concat, type Observable } from 'rxjs';
import { requireNumber } from '../../core/options.js';
import { RequestError } from '../http/requestError.js';
import type { OwnerLimits } from '../ownerLimits.js';
import type { LimitOptions } from '../serviceOptions.js';
import { RunFullError } from './runErrors.js';
import type { RunLog, RunMessage } from '../ports/runLog.js';
import { estimateSize } from './estimateSize.js';

const DEFAULT_WAITING_PROMPTS = 100;
const DEFAULT_WAITING_BYTES = 8_388_608;

/**
 * Sends a message to a run, unless too many wait for it. A stop is always sent.
 *
 * @param taken The position of the last message that does not wait. Default: all wait.
 */
export type SendMessage = (id: string, owner: string, message: RunMessage, taken?: string) => Observable<boolean>;

export function createSender(
  log: RunLog,
  limits: OwnerLimits,
  { maxWaitingPrompts: count = DEFAULT_WAITING_PROMPTS, maxWaitingBytes: bytes = DEFAULT_WAITING_BYTES }: LimitOptions,
): SendMessage {
  requireNumber('maxWaitingPrompts', count, 0);
  requireNumber('maxWaitingBytes', bytes, 0);
  return (id, owner, message, taken = '0') => {
    if (message.type === 'stop') return log.send(id, message);
    const sent = log.send(id, message, { after: taken, count, bytes });
    const counted = message.type === 'prompt' ? concat(limits.countPrompt(owner), sent) : sent;
    return limits.hold(owner, counted, estimateSize(message)).pipe(
      catchError((thrown: unknown) => {
        throw thrown instanceof RunFullError ? tooManyPrompts(count, bytes) : thrown;
      }),
    );
  };
}

const tooManyPrompts = (count: number, bytes: number) =>
  new RequestError(
    429,
    `At most ${count} prompts, and ${bytes} bytes, wait for a run. Send this one again later.`,
    { 'retry-after': '5' },
    { code: 'too_many_prompts', params: { count, bytes } },
  );
