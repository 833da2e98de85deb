import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { auditTime, filter, fromEvent, merge, startWith, takeUntil } from 'rxjs';
import { errorText } from '../../core/errors.js';
import { layoutRun } from '../../observe/draw/layoutRun.js';
import { renderDrawing } from '../../observe/draw/renderHtml.js';
import { drawingScript } from '../../observe/draw/script.js';
import { drawingStyle } from '../../observe/draw/style.js';
import { wireOfRun } from '../../observe/draw/wire.js';
import { readRecording, type RecordedRun, type RunRecording } from '../../observe/recording/readRecording.js';
import { runOf } from '../../observe/recording/replay.js';
import { canRepeat } from '../../observe/recording/replayRun.js';
import { firstDifference, repeatRun } from '../../observe/spec/repeatVirtually.js';
import { writeSpec } from '../../observe/spec/writeSpec.js';
import { runnerOf } from '../options.js';
import { corsHeaders, hasToken, rejectForeign, type Access } from './access.js';
import type { InspectedRuns } from './inspectedRuns.js';
import { inspectorPage } from './page.js';
import { inspectorScript } from './pageScript.js';
import { inspectorStyle } from './pageStyle.js';
import { replayScript } from './replayScript.js';

/** In bytes. `inspectRuns` sends less at once. */
const LARGEST_BODY = 8_388_608;

/** Milliseconds between two lists that a page receives. */
const LIST_TIME = 200;

export interface InspectServerOptions {
  readonly port: number;
  readonly origins: readonly string[];
}

export interface InspectServer {
  readonly address: string;
  close(): Promise<void>;
}

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; connect-src 'self'; " +
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};

function fileAt(path: string): readonly [type: string, text: string] | undefined {
  switch (path) {
    case '/':
      return ['text/html', inspectorPage];
    case '/inspector.js':
      return ['text/javascript', drawingScript + replayScript + inspectorScript];
    case '/inspector.css':
      return ['text/css', drawingStyle + inspectorStyle];
    default:
      return undefined;
  }
}

export async function serveInspector(runs: InspectedRuns, options: InspectServerOptions): Promise<InspectServer> {
  const token = randomBytes(24).toString('base64url');
  const server = createServer((request, response) => {
    void answer(request, response).catch((thrown: unknown) => fail(response, 500, errorText(thrown)));
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const access: Access = { token, port, origins: options.origins };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const rejected = rejectForeign(request, access);
    const cors = rejected ? {} : corsHeaders(request, access);
    for (const [name, value] of Object.entries({ ...headers, ...cors })) response.setHeader(name, value);
    const [path = '', query] = (request.url ?? '').split('?');
    const file = fileAt(path);
    if (rejected) fail(response, rejected.status, rejected.message);
    else if (request.method === 'OPTIONS') response.writeHead(204).end();
    else if (file) send(response, ...file);
    else if (!hasToken(request, access))
      fail(response, 401, 'Open the address that the inspector printed, with its token.');
    else if (path === '/api/entries') await receive(request, response, runs);
    else if (path === '/api/runs') follow(response, runs);
    else answerRun(path, new URLSearchParams(query), response, runs);
  }

  return {
    address: `http://127.0.0.1:${port}/#${token}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function send(response: ServerResponse, type: string, text: string): void {
  response.setHeader('content-type', `${type}; charset=utf-8`);
  response.end(text);
}

const sendJson = (response: ServerResponse, value: unknown): void =>
  send(response, 'application/json', JSON.stringify(value));

function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.statusCode = status;
  sendJson(response, { error: message });
}

async function receive(request: IncomingMessage, response: ServerResponse, runs: InspectedRuns): Promise<void> {
  const source = String(request.headers['rivulet-source'] ?? '');
  if (request.method !== 'POST' || source === '') {
    fail(response, 400, 'Send lines with POST and the header rivulet-source, as inspectRuns does.');
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_BODY) {
      fail(response, 413, `Send at most ${LARGEST_BODY} bytes at once.`);
      return;
    }
    chunks.push(chunk);
  }
  runs.add(source, Buffer.concat(chunks).toString());
  response.writeHead(204).end();
}

function follow(response: ServerResponse, runs: InspectedRuns): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
  const left = fromEvent(response, 'close');
  // A page that does not read receives the newest list when it reads again.
  merge(runs.changes, fromEvent(response, 'drain'))
    .pipe(
      auditTime(LIST_TIME),
      filter(() => !response.writableNeedDrain),
      startWith(undefined),
      takeUntil(left),
    )
    .subscribe({
      next: () => response.write(`${JSON.stringify(runs.list())}\n`),
      error: (thrown: unknown) => response.destroy(thrown instanceof Error ? thrown : undefined),
    });
}

type View = (recording: RunRecording, run: RecordedRun, query: URLSearchParams) => object;

const views: Readonly<Record<string, View>> = {
  drawing: (recording, run) => {
    const wire = wireOfRun(recording, run);
    return renderDrawing(layoutRun(run, wire), wire, run.start.at);
  },
  spec: (recording, _run, query) => ({
    spec: writeSpec(recording, { runner: runnerOf(query.get('runner') ?? 'vitest') }),
  }),
  replay: (recording, run) => {
    if (!canRepeat(run)) return { error: 'The recording of a model, without an agent, cannot be repeated.' };
    const repeated = repeatRun(recording, 1);
    const drawing = renderDrawing(layoutRun(repeated), new Map(), repeated.start.at);
    return { ...drawing, difference: firstDifference(repeated, run) };
  },
};

function answerRun(path: string, query: URLSearchParams, response: ServerResponse, runs: InspectedRuns): void {
  const [, id, name = ''] = /^\/api\/runs\/(\d+)\/(\w+)$/.exec(path) ?? [];
  const text = id === undefined ? undefined : runs.textOf(Number(id));
  const view = Object.hasOwn(views, name) ? views[name] : undefined;
  if (text === undefined) fail(response, 404, 'The inspector has no such run. It keeps the newest ones.');
  else if (name === 'recording') send(response, 'application/x-ndjson', text);
  else if (view) sendJson(response, viewOf(view, text, query));
  else fail(response, 404, 'The inspector has no such page.');
}

/** A recording that cannot be read is a result that the page shows. */
function viewOf(view: View, text: string, query: URLSearchParams): object {
  try {
    const recording = readRecording(text);
    return view(recording, runOf(recording, {}), query);
  } catch (thrown) {
    return { error: errorText(thrown) };
  }
}
