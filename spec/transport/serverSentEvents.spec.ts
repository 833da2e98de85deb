import { describe, expect, it } from '@jest/globals';
import { TestScheduler } from 'rxjs/testing';
import { MAX_TIMER_DELAY } from '../../lib/core/options.js';
import {
  endEvent,
  failureEvent,
  formatServerSentEvent,
  helloText,
  plainServerSentEvent,
  runServerSentEvent,
  startEvent,
  startHeartbeat,
} from '../../lib/transport/serverSentEvents.js';

const internal = { type: 'failed', data: '{"code":"internal","message":"The run failed.","retryable":false}' };
const throwing = () => {
  throw new Error('no');
};

describe('the server-sent events of a run', () => {
  it.each([
    [{}, '\n'],
    [{ comment: '' }, ': \n\n'],
    [{ data: '{}' }, 'data: {}\n\n'],
    [{ id: '7', type: 'end', data: '{}', retry: 5, comment: 'c' }, ': c\nevent: end\nretry: 5\nid: 7\ndata: {}\n\n'],
  ])('formatServerSentEvent(%j) is %j', (event, text) => {
    expect(formatServerSentEvent(event)).toBe(text);
  });

  it.each([
    [undefined, 'event: hello\ndata: {"heartbeat":15000}\n\n'],
    [1, 'event: hello\ndata: {"heartbeat":1}\n\n'],
    [2 ** 40, `event: hello\ndata: {"heartbeat":${MAX_TIMER_DELAY}}\n\n`],
    [false as const, ''],
    [Infinity, ''],
  ])('the first event of a response with the heartbeat %s is %j', (heartbeat, text) => {
    expect(helloText({ heartbeat })).toBe(text);
  });

  it.each([0, -1, NaN])('a heartbeat of %s is refused by its name', (heartbeat) => {
    expect(() => helloText({ heartbeat })).toThrow('heartbeat');
  });

  it.each([
    ['that cannot be continued', startEvent(false, '3'), { type: 'start', data: '{}', retry: MAX_TIMER_DELAY }],
    ['that begins', startEvent(true, undefined), { type: 'start', data: '{}', id: '0' }],
    ['that is continued', startEvent(true, '3'), { type: 'start', data: '{}' }],
    ['that has ended', endEvent, { type: 'end', data: '{}', retry: MAX_TIMER_DELAY }],
    ['with an id', runServerSentEvent({ type: 'own' }, '4'), { id: '4', data: '{"type":"own"}' }],
    [
      'without ids, first',
      plainServerSentEvent({ type: 'own' }, true),
      { data: '{"type":"own"}', retry: MAX_TIMER_DELAY },
    ],
    ['without ids, later', plainServerSentEvent({ type: 'own' }, false), { data: '{"type":"own"}' }],
    ['that failed', failureEvent(new Error('x'), {}), { ...internal, retry: MAX_TIMER_DELAY }],
    [
      'whose failure is described',
      failureEvent(new Error('x'), { describeError: (thrown) => ({ said: String(thrown) }) }),
      { type: 'failed', data: '{"said":"Error: x"}', retry: MAX_TIMER_DELAY },
    ],
    ['whose description throws', failureEvent(1, { describeError: throwing }), { ...internal, retry: MAX_TIMER_DELAY }],
    ['whose listener throws', failureEvent(1, { onError: throwing }), { ...internal, retry: MAX_TIMER_DELAY }],
  ])('the event of a run %s', (_, event, expected) => {
    expect(event).toEqual(expected);
  });

  it('onError gets what a run failed with', () => {
    const thrown: unknown[] = [];
    failureEvent('x', { onError: (error) => thrown.push(error) });
    expect(thrown).toEqual(['x']);
  });

  it('a heartbeat is sent after each interval without an event, until its timer is unsubscribed', () => {
    const beats: unknown[] = [];
    new TestScheduler(() => undefined).run(({ cold }) => {
      const heartbeat = startHeartbeat({ heartbeat: 10 }, (event) => beats.push(event));
      cold('15ms a 20ms (b|)').subscribe((at) => (at === 'a' ? heartbeat.noteEvent() : heartbeat.timer.unsubscribe()));
    });
    expect(beats).toEqual([{ comment: 'keep-alive' }, { comment: 'keep-alive' }]);
    expect(startHeartbeat({ heartbeat: false }, throwing).timer.closed).toBe(true);
  });
});
