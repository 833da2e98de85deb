import { request } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { concat, lastValueFrom, of, Subject, take } from 'rxjs';
import { createAgent } from 'rivulet';
import type { Chunk } from 'rivulet';
import { inspectRuns } from 'rivulet/recording';
import { InspectedRuns } from '../../../lib/cli/inspect/inspectedRuns.js';
import { serveInspector } from '../../../lib/cli/inspect/inspectServer.js';
import type { InspectServer } from '../../../lib/cli/inspect/inspectServer.js';
import { busyAgent, recordVirtually } from '../../observe/recording/runs.js';
import { runSpec } from '../../observe/recording/runSpec.js';

const servers: InspectServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function start(runs = new InspectedRuns(), origins: readonly string[] = []) {
  const server = await serveInspector(runs, { port: 0, origins });
  servers.push(server);
  const { origin, hash, port } = new URL(server.address);
  const authorization = `Bearer ${hash.slice(1)}`;
  return {
    runs,
    server,
    origin,
    port,
    authorization,
    get: (path: string, headers: Record<string, string> = { authorization }) => fetch(`${origin}${path}`, { headers }),
  };
}

/** A request with any headers, also those that `fetch` sets itself. */
const rawRequest = (port: string, headers: Record<string, string>, method = 'GET', path = '/') =>
  new Promise<{ readonly status: number | undefined; readonly headers: object }>((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode, headers: response.headers }));
    });
    sent.on('error', reject).end();
  });

const hello: Chunk = { type: 'text', text: 'Hello' };
const finish: Chunk = { type: 'finish', reason: 'stop' };

const { lines, played } = recordVirtually(busyAgent());

async function startWithRun() {
  const started = await start();
  started.runs.add('a', lines.join('\n'));
  return started;
}

describe('serveInspector', () => {
  it('serveInspector sends the list of runs at once and after each change of another process', async () => {
    const { server, get } = await start();
    const response = await get('/api/runs');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const states: unknown[] = [];
    const seen = new Subject<Chunk>();
    const model = { provider: 'test', name: 'test', stream: () => concat(of(hello), seen.pipe(take(1))) };
    const held = lastValueFrom(inspectRuns(createAgent({ model }), server.address).stream('Hi'));
    for (let text = ''; states.at(-1) !== 'stop';) {
      const { value = '' } = (await reader?.read()) ?? {};
      const parts = (text + value).split('\n');
      text = parts.pop() ?? '';
      for (const part of parts) states.push((JSON.parse(part) as { readonly state: string }[])[0]?.state);
      if (states.includes('running')) seen.next(finish);
    }
    await held;
    await reader?.cancel();
    expect([...new Set(states)]).toEqual([undefined, 'running', 'stop']);
  });

  it('serveInspector sends the drawing, the spec, the replay and the recording of a run', async () => {
    const { get } = await startWithRun();
    const drawing = (await (await get('/api/runs/1/drawing')).json()) as {
      readonly html: string;
      readonly data: object;
    };
    expect(drawing.html).toContain('How warm is it in Oslo?');
    expect(drawing.data).toHaveProperty('items');
    const { spec } = (await (await get('/api/runs/1/spec?runner=vitest')).json()) as { readonly spec: string };
    expect(runSpec(spec)).toHaveLength(1);
    const replay = (await (await get('/api/runs/1/replay')).json()) as object;
    expect(replay).not.toHaveProperty('difference');
    expect(await (await get('/api/runs/1/recording')).text()).toBe(`${lines.join('\n')}\n`);
    expect(await (await get('/api/runs/1/spec?runner=mocha')).json()).toMatchObject({
      error: expect.stringContaining('mocha'),
    });
  });

  it('serveInspector says in which event the repeated run differs', async () => {
    const { get, runs } = await start();
    runs.add('a', lines.map((line) => line.replace('"turns":2', '"turns":9')).join('\n'));
    const { difference } = (await (await get('/api/runs/1/replay')).json()) as { readonly difference?: number };
    expect(difference).toBe(played.values.length); // the result
  });

  it('serveInspector explains what it cannot read or repeat', async () => {
    const { get, runs } = await start();
    runs.add('newer', '{"type":"recording","version":99,"at":0}\n{"type":"start","run":1,"at":0,"kind":"run"}');
    runs.add('model', '{"type":"recording","version":1,"at":0}\n{"type":"start","run":1,"at":0,"kind":"model"}');
    const [newer, model] = [await get('/api/runs/1/drawing'), await get('/api/runs/2/replay')];
    expect(await newer.json()).toMatchObject({ error: expect.stringContaining('version 99') });
    expect(await model.json()).toMatchObject({ error: expect.stringContaining('cannot be repeated') });
    expect((await get('/api/runs/3/drawing')).status).toBe(404);
    expect((await get('/api/runs/1/constructor')).status).toBe(404);
  });

  it('serveInspector tells nothing of a run without the token', async () => {
    const { get, origin } = await startWithRun();
    for (const path of ['/api/runs', '/api/runs/1/drawing', '/api/runs/1/recording', '/api/entries', '/other'])
      for (const headers of [{}, { authorization: 'Bearer wrong' }])
        expect([path, (await get(path, headers)).status]).toEqual([path, 401]);
    const sent = await fetch(`${origin}/api/entries`, { method: 'POST', body: lines.join('\n') });
    expect(sent.status).toBe(401);
    expect(await (await get('/', {})).text()).not.toContain('Oslo');
  });

  it('serveInspector answers under its own names only, and to no page of another site', async () => {
    const { port, authorization } = await startWithRun();
    const own = { host: `127.0.0.1:${port}`, authorization };
    expect(await rawRequest(port, own)).toMatchObject({ status: 200 });
    expect(await rawRequest(port, { ...own, host: `localhost:${port}` })).toMatchObject({ status: 200 });
    expect(await rawRequest(port, { ...own, host: `rebound.example:${port}` })).toMatchObject({ status: 421 });
    expect(await rawRequest(port, { ...own, host: '127.0.0.1' })).toMatchObject({ status: 421 });
    expect(await rawRequest(port, { ...own, origin: 'https://other.example' })).toMatchObject({ status: 403 });
    expect(await rawRequest(port, { ...own, origin: 'null' })).toMatchObject({ status: 403 });
    const { headers } = await rawRequest(port, own);
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringMatching(/^default-src 'none'.*frame-ancestors 'none'$/),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
  });

  it('serveInspector lets a page send its runs whose origin was allowed', async () => {
    const page = 'http://localhost:4200';
    const { port } = await start(new InspectedRuns(), [page]);
    const host = `127.0.0.1:${port}`;
    const asked = { host, origin: page, 'access-control-request-private-network': 'true' };
    expect(await rawRequest(port, asked, 'OPTIONS', '/api/entries')).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-origin': page, 'access-control-allow-private-network': 'true' },
    });
    const { status } = await rawRequest(port, { host, origin: 'http://localhost:4201' }, 'OPTIONS', '/api/entries');
    expect(status).toBe(403);
  });

  it('serveInspector rejects what is not a list of lines, or is too large', async () => {
    const { get, origin, authorization } = await start();
    expect((await get('/api/entries')).status).toBe(400);
    const headers = { authorization, 'rivulet-source': 'a' };
    const body = 'x'.repeat(2 ** 23 + 1);
    const sent = await fetch(`${origin}/api/entries`, { method: 'POST', headers, body });
    expect(sent.status).toBe(413);
  });
});
