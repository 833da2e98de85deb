import { describe, expect, it } from '@jest/globals';
import { catchError, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { contentTypeError, statusError } from '../../lib/protocol/errorResponse.js';
import { utf8 } from './wires.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);
const messageOf = (source: Observable<never>) =>
  source.pipe(catchError((error: unknown) => of(error instanceof Error && error.message)));

describe('a body that is not the stream asked for', () => {
  it('holds up its error for five seconds at most when it never ends, and shows what had come', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const body = cold('-a', { a: utf8('{"error":"Quota gone') });
      expectObservable(messageOf(statusError('toy', new Response('', { status: 403 }), body))).toBe('5s (m|)', {
        m: 'toy answered 403: {"error":"Quota gone. Check the API key and what it is allowed to do.',
      });
      const page = cold('-a', { a: utf8('<html>') });
      const html = new Response('', { headers: { 'content-type': 'text/html' } });
      expectObservable(messageOf(contentTypeError('toy', html, page, 'text/event-stream'))).toBe('5s (m|)', {
        m: 'toy answered 200 with text/html instead of text/event-stream: "<html>". Check baseUrl, and any proxy between.',
      });
      for (const { subscriptions } of [body, page]) expectSubscriptions(subscriptions).toBe('^ 4999ms !');
    });
  });

  it('is left with its reader', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const body = cold('-a', { a: utf8('x') });
      expectObservable(statusError('toy', new Response('', { status: 500 }), body), '^--!').toBe('---');
      expectSubscriptions(body.subscriptions).toBe('^--!');
    });
  });
});
