import { describe, expect, it } from '@jest/globals';
import { concat, from, NEVER, Observable, of, Subject, take, throwError } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { ConfigurationError, HttpError } from '../../../lib/core/errors.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import { operatorContract } from '../../../lib/testing/operatorContract.js';
import { formatServerSentEvent } from '../../../lib/transport/serverSentEvents.js';
import { shareRun } from '../../../lib/service/runs/shareRun.js';
import { toServerSentEvents } from '../../../lib/service/http/toServerSentEvents.js';
import { diagram } from '../../support/diagram.js';
import { observe } from '../../support/observe.js';
import { exampleRun } from '../../support/runs.js';

const other = (type: string): StreamEvent => ({ type });
/** An Observable may fail with any value. */
const failWith = (thrown: unknown) => new Observable<never>((out) => out.error(thrown));
const failure = (thrown: unknown, options: Parameters<typeof toServerSentEvents>[0] = {}) =>
  observe(failWith(thrown).pipe(toServerSentEvents({ heartbeat: false, ...options })));

describe('toServerSentEvents', () => {
  it('toServerSentEvents ends a run with an event of its own', () =>
    diagram('toServerSentEvents', ({ source }) => source.pipe(toServerSentEvents({ heartbeat: false }))));

  it.each(
    operatorContract(toServerSentEvents({ heartbeat: false }), { source: [other('a')], passThrough: false }).filter(
      ({ title }) => !/error of the source|under retry|an exception/.test(title), // an error becomes the event `failed`
    ),
  )('toServerSentEvents $title', ({ run }) => run());

  it('toServerSentEvents numbers the events of a shared run, and continues after an id', () => {
    const run = shareRun(exampleRun());
    run.start();
    const { values } = observe(run.envelopes().pipe(toServerSentEvents({ heartbeat: false })));
    const ids = values.map(({ id }) => id);
    expect(ids.slice(0, 3)).toEqual(['0.11', '1.11', '3']);
    const rest = observe(run.envelopes('1.11').pipe(toServerSentEvents({ heartbeat: false })));
    expect(rest.values).toEqual(values.slice(2));
  });

  it('toServerSentEvents sends a comment when the run was silent for the time of a heartbeat', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ cold, expectObservable }) => {
      const source = cold('---a---------', { a: other('a') });
      const hello = { type: 'hello', data: '{"heartbeat":4}' };
      const a = { data: '{"type":"a"}', retry: 2_147_483_647 };
      expectObservable(source.pipe(toServerSentEvents({ heartbeat: 4 })), '^------------!').toBe('o--a----h---h', {
        a,
        o: hello,
        h: { comment: 'keep-alive' },
      });
    });
  });

  it.each<[string, (events$: Observable<StreamEvent>) => Observable<unknown>]>([
    ['a plain run', (events$) => events$.pipe(toServerSentEvents({ heartbeat: false }))],
    [
      'a shared run',
      (events$) =>
        shareRun(events$)
          .envelopes()
          .pipe(toServerSentEvents({ heartbeat: false })),
    ],
  ])('toServerSentEvents sends nothing for a checkpoint of %s', (_, build) => {
    const checkpoint = { type: 'checkpoint', checkpoint: {} } as StreamEvent;
    const { values } = observe(build(of(checkpoint, other('a'))));
    expect(values).toMatchObject([{ data: '{"type":"a"}' }, { type: 'end' }]);
  });

  it('toServerSentEvents takes an event of the application with a field `compact` for an event', () => {
    const own = { type: 'own', compact: { type: 'a' } } as StreamEvent;
    const { values } = observe(of(own).pipe(toServerSentEvents({ heartbeat: false })));
    expect(values[0]?.data).toBe(JSON.stringify(own));
  });

  it('toServerSentEvents stops its heartbeat when it is unsubscribed', () => {
    new TestScheduler(() => undefined).run(({ flush, expectObservable }) => {
      expectObservable(NEVER.pipe(toServerSentEvents({ heartbeat: 2 }), take(2)));
      flush(); // would not end
    });
  });

  it('toServerSentEvents describes an error of the provider by its code and a fixed sentence', () => {
    const busy = new HttpError('The server is busy.', { provider: 'p', status: 503, retryable: true, body: 'secret' });
    const { values, completed } = failure(busy);
    expect(values).toEqual([
      {
        type: 'failed',
        data: '{"code":"http","message":"The model did not accept the request.","retryable":true}',
        retry: 2_147_483_647,
      },
    ]);
    expect(completed).toBe(true);
  });

  it.each([
    ['a foreign error', new Error('postgres://admin:hunter2@db')],
    ['an error of the configuration', new ConfigurationError('apiKey', 'There is no key.', 'Set OPENAI_API_KEY.')],
    ['a value', 'secret'],
  ])('toServerSentEvents says nothing about %s', (_, thrown) => {
    expect(failure(thrown).values[0]?.data).toBe('{"code":"internal","message":"The run failed.","retryable":false}');
  });

  it('toServerSentEvents describes errors as the application chooses', () => {
    const { values } = failure('x', { describeError: (thrown) => ({ code: 'own', message: String(thrown) }) });
    expect(values[0]?.data).toBe('{"code":"own","message":"x"}');
  });

  it('toServerSentEvents passes the error to the log of the server', () => {
    const logged: unknown[] = [];
    const secret = new Error('postgres://admin:hunter2@db');
    const { values } = failure(secret, { onError: (thrown) => logged.push(thrown) });
    expect(logged).toEqual([secret]);
    expect(values[0]?.data).not.toContain('hunter2');
  });

  it.each<[string, (events$: Observable<StreamEvent>) => Observable<unknown>]>([
    ['a plain run', (events$) => events$.pipe(toServerSentEvents({ heartbeat: false }))],
    [
      'a shared run',
      (events$) =>
        shareRun(events$)
          .envelopes()
          .pipe(toServerSentEvents({ heartbeat: false })),
    ],
  ])('toServerSentEvents fails %s with an event that is not JSON, and completes', (_, build) => {
    const source = new Subject<StreamEvent>();
    const log = observe(build(source));
    source.next(other('a'));
    source.next({ type: 'b', value: 1n } as StreamEvent);
    expect(log).toMatchObject({ values: [{}, { type: 'failed' }], completed: true });
  });

  it('toServerSentEvents sends a failure although describeError or onError fails', () => {
    const fail = () => {
      throw new Error('no description');
    };
    for (const options of [{ describeError: fail }, { onError: fail }])
      expect(failure('x', options).values[0]?.data).toContain('The run failed.');
  });

  it('toServerSentEvents sends what was emitted before an error', () => {
    const run = concat(
      of(other('a')),
      throwError(() => new Error('no')),
    );
    expect(observe(run.pipe(toServerSentEvents({ heartbeat: false }))).values.map(({ type }) => type)).toEqual([
      undefined,
      'failed',
    ]);
  });

  it('formatServerSentEvent writes the fields, and a blank line', () => {
    expect(formatServerSentEvent({ id: '1', type: 'end', data: '{}', retry: 5 })).toBe(
      'event: end\nretry: 5\nid: 1\ndata: {}\n\n',
    );
    expect(formatServerSentEvent({ comment: 'keep-alive' })).toBe(': keep-alive\n\n');
  });

  it('toServerSentEvents writes JSON without line breaks, whatever an event contains', () => {
    const { values } = observe(
      from([{ type: 'text', text: 'a\n\nb\r\u2028' } as StreamEvent]).pipe(toServerSentEvents({ heartbeat: false })),
    );
    expect(values[0]?.data).not.toMatch(/[\n\r]/);
  });
});
