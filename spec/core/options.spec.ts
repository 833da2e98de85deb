import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { defer, NEVER, of, throwError } from 'rxjs';
import { HttpError } from '../../lib/core/errors.js';
import type { Model } from '../../lib/core/model.js';
import { fallback } from '../../lib/models/fallback.js';
import { guardModel } from '../../lib/models/guardModel.js';
import { hedge } from '../../lib/models/hedge.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { idleTimeout } from '../../lib/protocol/idleTimeout.js';
import { retryRequest } from '../../lib/protocol/retryRequest.js';
import { shareRun } from '../../lib/service/runs/shareRun.js';
import { toServerSentEvents } from '../../lib/service/http/toServerSentEvents.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { observe } from '../support/observe.js';
import { anyTool } from '../support/toolCalls.js';
import { callTool } from '../tools/calls.js';

/** More milliseconds than a timer supports: it would fire at once. */
const long = 2 ** 31;
const request = { messages: [] };

/** A source that fails, and counts its subscriptions. */
function failing() {
  const attempts = jest.fn();
  const busy = new HttpError('Busy.', { provider: 'p', status: 429, retryable: true, retryAfter: long });
  const source = defer(() => {
    attempts();
    return throwError(() => busy);
  });
  return { attempts, source };
}

describe('requireAnswer', () => {
  const ask = (model: Model) => observe(model.stream(request));
  const broken = () => scriptedModel([['part', { error: new Error('broken') }], 'again']);
  const fail = anyTool('f', () => throwError(() => new Error('broken')));
  /** By the option: what asks, and what must not follow a Promise that counts as true. */
  const predicates: readonly (readonly [string, (answer: () => never) => unknown])[] = [
    ['isAllowed', (answer) => ask(guardModel(scriptedModel(['A secret.']), answer)).error],
    ['when', (answer) => ask(retryModel(broken(), { when: answer, delay: 0 })).error],
    ['when', (answer) => ask(fallback([broken(), broken()], { when: answer })).error],
    ['when', (answer) => observe(callTool(retryTool(fail, { when: answer, delay: 0 }))).values[0]],
  ];
  const answers: readonly (readonly [string, unknown])[] = [
    ['a Promise of false', Promise.resolve(false)],
    ['a Promise of true', Promise.resolve(true)],
    ['an Observable of false', of(false)],
  ];
  const rows = predicates.flatMap(([name, use]) => answers.map(([shown, answer]) => ({ name, use, shown, answer })));

  it.each(rows)('requireAnswer refuses $shown of $name: it would count as true', ({ name, use, answer }) => {
    const refused = use(() => answer as never);
    expect(refused instanceof Error ? refused.message : refused).toContain(`${name} returned a`);
  });
});

describe('MAX_TIMER_DELAY', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => {
    jest.restoreAllMocks(); // before the timers that it may have spied on
    jest.useRealTimers();
  });

  it.each<[string, () => () => unknown, unknown]>([
    [
      'a Retry-After',
      () => {
        const { attempts, source } = failing();
        observe(source.pipe(retryRequest({ maxDelay: Infinity })));
        return () => attempts.mock.calls.length;
      },
      1,
    ],
    [
      'a silence',
      () => {
        const timers = jest.spyOn(globalThis, 'setInterval');
        observe(NEVER.pipe(idleTimeout({ first: long, body: false, each: long }, () => false)));
        return () => timers.mock.calls.length; // a check that comes too early waits again
      },
      1,
    ],
    [
      'the delay of retryModel',
      () => {
        const { attempts, source } = failing();
        observe(
          retryModel(
            scriptedModel(() => source),
            { delay: long },
          ).stream(request),
        );
        return () => attempts.mock.calls.length;
      },
      1,
    ],
    [
      'the time of hedge',
      () => {
        const second = scriptedModel(['late']);
        observe(hedge([scriptedModel([NEVER]), second], { after: long }).stream(request));
        return () => second.requests;
      },
      [],
    ],
    [
      'the grace time of a shared run',
      () => {
        const run = shareRun(NEVER, { grace: long });
        run.start();
        return () => run.status;
      },
      'running',
    ],
    [
      'a heartbeat',
      () => {
        const seen = observe(NEVER.pipe(toServerSentEvents({ heartbeat: long })));
        return () => seen.values.slice(1); // after `hello`
      },
      [],
    ],
    [
      'the delay of retryTool',
      () => {
        const { attempts, source } = failing();
        observe(
          callTool(
            retryTool(
              anyTool('f', () => source),
              { delay: long },
            ),
          ),
        );
        return () => attempts.mock.calls.length;
      },
      1,
    ],
    [
      'the 23rd delay of retryTool, which doubles',
      () => {
        const { attempts, source } = failing();
        observe(
          callTool(
            retryTool(
              anyTool('f', () => source),
              { count: 40 },
            ),
          ),
        );
        jest.advanceTimersByTime((2 ** 22 - 1) * 1000);
        return () => attempts.mock.calls.length;
      },
      23,
    ],
  ])('MAX_TIMER_DELAY keeps %s from ending at once', (_, start, expected) => {
    const observed = start();
    expect(observed()).toEqual(expected);
    jest.advanceTimersByTime(1000);
    expect(observed()).toEqual(expected);
  });
});
