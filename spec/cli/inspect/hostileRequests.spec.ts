import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { InspectedRuns } from '../../../lib/cli/inspect/inspectedRuns.js';
import { serveInspector, type InspectServer } from '../../../lib/cli/inspect/inspectServer.js';
import { recordRun } from '../../../lib/observe/recording/index.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { anyTool } from '../../support/toolCalls.js';

const runs = new InspectedRuns();
let server: InspectServer;
let address: URL;
beforeAll(async () => {
  server = await serveInspector(runs, { port: 0, origins: [] });
  address = new URL(server.address);
});
afterAll(() => server.close());

const authorization = () => `authorization: Bearer ${address.hash.slice(1)}`;
const ownHost = () => `host: 127.0.0.1:${address.port}`;

/** Sends lines as they are, also those that no client writes. Returns the whole response. */
const send = (...lines: readonly string[]) =>
  new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect(Number(address.port), '127.0.0.1');
    socket.on('data', (data) => (text += data.toString()));
    socket.on('error', reject).on('close', () => resolve(text));
    socket.end(`${[...lines, 'connection: close'].join('\r\n')}\r\n\r\n`);
  });

const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]);

const hostile = [
  ['a script', '<script>alert(1)</script>'],
  ['an image', '"><img src=x onerror=alert(1)>'],
  ['the end of an element', '</title></style></script><svg onload=alert(1)>'],
  ['a comment', '<!--'],
  ['line breaks, NUL and quotes', 'a\nb\r\n\0{}\\"\u2028'],
  ['half a character', 'a\uD800'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['200 KB', '<u>'.repeat(70_000)],
] as const;

/** A run that has the text wherever a server, a tool or a user may write one. */
async function addHostileRun(text: string): Promise<number> {
  const lines: string[] = [];
  const model = scriptedModel([[toolCall('look', { [text]: text }, text)], text], { provider: text, name: text });
  const agent = recordRun(
    createAgent({ model, tools: [{ ...anyTool('look', () => text), description: text }] }),
    (line) => lines.push(line),
    { name: text },
  );
  await lastValueFrom(agent.stream(text));
  runs.add(text, lines.join('\n').replaceAll('"look"', JSON.stringify(text))); // no agent accepts the name of such a tool
  return runs.list()[0]?.id ?? 0;
}

describe('hostile requests to the inspector', () => {
  it.each<[what: string, status: number, target: string]>([
    ['a path with ..', 404, '/api/runs/../../etc/passwd'],
    ['an encoded path with ..', 404, '/api/runs/%2e%2e/%2e%2e/package.json'],
    ['a path of no URL', 404, '//'],
    ['another host in the path', 404, '//evil.example/'],
    ['a whole URL', 404, 'http://evil.example/'],
    ['a URL that is none', 404, 'http://['],
    ['*', 404, '*'],
    ['half an escape', 404, '/%'],
    ['an encoded NUL', 404, '/api/runs/1%00/drawing'],
    ['an id of 400 digits', 404, `/api/runs/${'9'.repeat(400)}/drawing`],
    ['a name of Object', 404, '/api/runs/1/__proto__'],
    ['a path of 20 KB', 431, `/${'a'.repeat(20_000)}`],
  ])('serveInspector answers %s with %i', async (_, status, target) => {
    const response = await send(`GET ${target} HTTP/1.1`, ownHost(), authorization());
    expect(statusOf(response)).toBe(status);
  });

  it.each<[what: string, status: number, lines: () => readonly string[]]>([
    ['a name that points to this machine', 421, () => [`host: rebound.example:${address.port}`]],
    ['an own name with a port of another service', 421, () => ['host: localhost:80']],
    ['an own name inside another', 421, () => [`host: 127.0.0.1:${address.port}.evil.example`]],
    ['an own name with a user', 421, () => [`host: evil@127.0.0.1:${address.port}`]],
    ['a foreign name before its own', 421, () => ['host: evil.example', ownHost()]],
    ['no name', 400, () => []],
    ['a page of another site', 403, () => [ownHost(), 'origin: https://evil.example']],
    ['a page in a frame without an origin', 403, () => [ownHost(), 'origin: null']],
    ['a page of its own address with TLS', 403, () => [ownHost(), `origin: https://127.0.0.1:${address.port}`]],
    ['a page of another port', 403, () => [ownHost(), 'origin: http://localhost:1']],
    [
      'a page that asks before it sends',
      403,
      () => [ownHost(), 'origin: http://a', 'access-control-request-method: POST'],
    ],
  ])('serveInspector refuses %s with %i, and tells nothing of a run', async (_, status, lines) => {
    runs.add('a', '{"type":"start","run":1,"at":0,"kind":"run","name":"unseen"}');
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
      const response = await send(`${method} /api/runs HTTP/1.1`, ...lines(), authorization());
      expect(statusOf(response)).toBe(status);
      expect(response).not.toMatch(/unseen|access-control-allow-origin/);
      if (status !== 400) expect(response).toMatch(/x-content-type-options: nosniff/);
    }
  });

  it.each(hostile)('serveInspector shows a run with %s everywhere as text', async (_, text) => {
    const id = await addHostileRun(text);
    for (const view of ['drawing', 'replay', 'spec?runner=vitest']) {
      const response = await fetch(`${address.origin}/api/runs/${id}/${view}`, {
        headers: { authorization: authorization().slice('authorization: '.length) },
      });
      expect([view, response.status, response.headers.get('content-type')]).toEqual([
        view,
        200,
        'application/json; charset=utf-8',
      ]);
      const { html = '' } = (await response.json()) as { readonly html?: string };
      expect(html.match(/<(?:script|img|svg onload|u>|!--|\/title|\/style).{0,40}/g)).toBeNull();
    }
  });

  it('serveInspector sends a list of bounded length, whatever its runs are called', async () => {
    const long = 'x'.repeat(2 ** 20);
    const of = { run: 1, at: 1 };
    const result = { type: 'result', result: { messages: [], finishReason: long, usage: {} } };
    const entries = [
      { ...of, type: 'start', kind: 'run', name: long },
      { ...of, type: 'event', value: result },
    ];
    runs.add('long', entries.map((entry) => JSON.stringify(entry)).join('\n'));
    runs.add(
      'longer',
      [entries[0], { ...of, type: 'end', outcome: long }].map((entry) => JSON.stringify(entry)).join('\n'),
    );
    for (const run of runs.list().slice(0, 2)) expect(JSON.stringify(run).length).toBeLessThan(1000);
  });

  it('serveInspector answers while 200 connections follow the list, and 200 say nothing', async () => {
    const headers = { authorization: authorization().slice('authorization: '.length) };
    const silent = Array.from({ length: 200 }, () => connect(Number(address.port), '127.0.0.1'));
    const left = new AbortController();
    const readers = await Promise.all(
      Array.from({ length: 200 }, () => fetch(`${address.origin}/api/runs`, { headers, signal: left.signal })),
    );
    expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await fetch(address.origin)).status).toBe(200);
    left.abort();
    for (const socket of silent) socket.destroy();
  });
});
