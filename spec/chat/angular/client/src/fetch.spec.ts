import { HttpClient, provideHttpClient, withInterceptors } from '@angular/common/http';
import type { HttpInterceptorFn } from '@angular/common/http';
import { HttpTestingController, provideHttpClientTesting } from '@angular/common/http/testing';
import { TestBed } from '@angular/core/testing';
import { firstValueFrom, NEVER } from 'rxjs';
import { remoteAgent, remoteChats } from 'rivulet/chat';
import { injectFetch } from './guide/fetch';

/** Puts a header into each request, as the interceptors of applications do. */
const sign: HttpInterceptorFn = (request, next) => next(request.clone({ setHeaders: { 'x-signed': 'yes' } }));

describe('the fetch of the guide', () => {
  let server: HttpTestingController;
  let send: typeof fetch;
  beforeEach(() => {
    const providers = [provideHttpClient(withInterceptors([sign])), provideHttpClientTesting()];
    TestBed.configureTestingModule({ providers });
    expect(TestBed.inject(HttpClient)).toBeDefined();
    server = TestBed.inject(HttpTestingController);
    send = TestBed.runInInjectionContext(injectFetch);
  });
  const turn = () => new Promise((resolve) => setTimeout(resolve));

  it('sends the requests of a page through the interceptors', async () => {
    const list = firstValueFrom(remoteChats('/api/chat', { fetch: send }).list());
    await turn();
    const request = server.expectOne('/api/chat');
    expect(request.request.headers.get('x-signed')).toBe('yes');
    request.flush('{"chats":[]}', { headers: { 'content-type': 'application/json' } });
    expect(await list).toEqual({ chats: [] });
  });

  it.each([
    [429, { 'retry-after': '3600' }, { code: 'http', status: 429, retryAfter: 3_600_000 }],
    [403, {}, { code: 'http', status: 403 }],
  ])('passes a refusal on: %d', async (status, headers, error) => {
    const list = firstValueFrom(remoteChats('/api/chat', { fetch: send, retries: 0 }).list());
    const failed = expect(list).rejects.toMatchObject(error);
    await turn();
    server.expectOne('/api/chat').flush('No.', { status, statusText: 'No', headers });
    await failed;
  });

  it('fails without a connection, and ends a request that nobody waits for', async () => {
    const list = firstValueFrom(remoteChats('/api/chat', { fetch: send, retries: 0 }).list());
    const failed = expect(list).rejects.toMatchObject({ code: 'connection' });
    await turn();
    server.expectOne('/api/chat').error(new ProgressEvent('error'));
    await failed;
    const stop = remoteAgent('/api/chat', { fetch: send }).stop?.('a'.repeat(32)).subscribe();
    await turn();
    const request = server.expectOne('/api/chat');
    stop?.unsubscribe();
    expect(request.cancelled).toBe(true);
  });

  it('does not send a stream with HttpClient', () => {
    const sent: unknown[] = [];
    const original = globalThis.fetch;
    globalThis.fetch = (...request) => (sent.push(request), new Promise<never>(() => undefined));
    try {
      const notifiers = { stop: NEVER, cancel: NEVER };
      remoteAgent('/api/chat', { fetch: send }).join?.('a'.repeat(32), notifiers).subscribe().unsubscribe();
      expect(sent).toHaveLength(1);
      server.verify();
    } finally {
      globalThis.fetch = original;
    }
  });
});
