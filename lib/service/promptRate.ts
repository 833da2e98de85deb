import { asyncScheduler, defer, ignoreElements, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import { asArray } from '../core/json/json.js';
import { requireNumber } from '../core/options.js';
import { namedId, RequestError } from './http/requestError.js';
import type { RunAccess } from './runs/runAccess.js';

const MINUTE = 60_000;

/** Counts a prompt of an owner. It fails with 429 if the last minute has as many as are allowed. */
export type CountPrompt = (owner: string) => Observable<never>;

/** Counts in a record of the store, so for all processes that share it. The record is gone after a minute. */
export function createPromptRate(access: Pick<RunAccess<never>, 'update'>, max = Infinity): CountPrompt {
  requireNumber('maxPromptsPerMinute', max, 1);
  const count = (owner: string, id: string) =>
    access.update(id, owner, (record) => {
      const now = asyncScheduler.now();
      const times = (asArray(record?.protocol?.['times']) as readonly number[]).filter((time) => time > now - MINUTE);
      const [first = now] = times.slice(-max);
      if (times.length >= max) throw tooManyPrompts(max, first + MINUTE - now);
      const protocol = { times: [...times, now] };
      return { id, owner, state: 'ended', updated: now, expires: now + MINUTE, attempt: 1, input: [], protocol };
    });
  return (owner) =>
    defer(() => (max === Infinity ? [] : count(owner, rateId(owner)))).pipe(
      tap((isCounted) => {
        if (!isCounted) throw tooManyPrompts(max, 0); // many at once
      }),
      ignoreElements(),
    );
}

const rateId = (owner: string): string => namedId('rate', owner, 'prompts');

/** Whether a record of the store is not that of a run: a list of runs omits it. */
export const isRate = ({ id, owner }: { readonly id: string; readonly owner: string }): boolean => id === rateId(owner);

const tooManyPrompts = (max: number, wait: number) =>
  new RequestError(
    429,
    `At most ${max} prompts per minute are accepted from a user. Ask again later.`,
    { 'retry-after': String(Math.max(1, Math.ceil(wait / 1000))) },
    { code: 'prompt_rate', params: { max } },
  );
