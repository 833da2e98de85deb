import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { of } from 'rxjs';
import { ConfigurationError } from '../../../../lib/core/errors.js';
import type { JsonValue } from '../../../../lib/core/json/json.js';
import { modelByName } from '../../../../lib/providers/registry/index.js';
import { parseDiagram, runDiagram } from '../../../../lib/testing/index.js';
import { serveModel } from '../../../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../../../lib/testing/server/index.js';
import { createRandom, describe, key } from '../family.js';
import type { Family } from '../family.js';
import { outcome } from '../../../support/outcome.js';
import { answer, replaceValue, request, wires } from '../wires.js';

type Random = ReturnType<typeof createRandom>;

/** A request as a model sends it. */
interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Returns the request that a model sends to the server. */
async function requestOf(wire: string, server: LoopbackServer): Promise<Sent> {
  let sent: Sent | undefined;
  const record: typeof fetch = (input, init) => {
    const headers = Object.fromEntries(new Headers(init?.headers));
    sent = { url: new Request(input).url, headers, body: init?.body as string };
    return fetch(input, init);
  };
  await outcome(modelByName(wire, { baseUrl: server.urlFor(wire), apiKey: key, fetch: record }).stream(request));
  if (!sent) throw new Error(`${wire} sent no request.`);
  return sent;
}

/** Bodies that are not a request of any wire. */
const bodies: readonly string[] = [
  '',
  'null',
  '5',
  '"text"',
  '[]',
  '[null]',
  '{}',
  '{"messages":null}',
  '{"messages":[null]}',
  '{"messages":[{"role":"user","content":{"then":1}}],"model":"m","stream":true}',
  '{"__proto__":{"polluted":true},"messages":{"length":1e9}}',
  '{"messages":'.repeat(50_000),
  '['.repeat(200_000) + ']'.repeat(200_000),
  `{"model":"${'m'.repeat(1_000_000)}"}`,
  '\ud800',
  '{"model":"m","stream":true,"messages":[{"role":"tool","tool_call_id":"x","content":"y"}]}',
];

/** Bytes that are not HTTP. */
const garbage: readonly string[] = [
  '',
  'GET\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{',
  'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n{}',
  'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  `POST /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  `POST / HTTP/1.1\r\nHost: a\r\n${'x: y\r\n'.repeat(5_000)}\r\n`,
  'POST // HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}',
  'POST /%zz?%zz#%zz HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}',
  '\u0000\u0001\u0002'.repeat(1_000),
];

/** Sends bytes over a socket of their own, and waits for the end, or for a moment if the server waits for more. */
const sendBytes = (port: number, bytes: string) =>
  new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.setTimeout(50, () => socket.destroy());
  });

/** Posts a body, and checks that the server answers as a provider does. */
async function post({ url, headers }: Sent, body: string): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body });
  await response.text();
  assert.ok(response.status < 500, `status ${response.status}`);
}

/** Texts of diagrams. */
const words: readonly [string, ...string[]] = [
  '-', '--', 'a', 'b', 'x', '0', '(', ')', '(ab)', '|', '#', '^', '!', ' ', '\n', '\n\n', '\r\n', '\t', '%', '%: ',
  '%: a = 1', '%: a = {"__proto__":{"polluted":true}}', '%: __proto__ = {"polluted":true}', '%: # = {"message":1}',
  '%: a = "$b.c"', '%: b = "$a"', '> ', '> map', '> >', 'title = ', 'kind = hot', 'subs = ', 'subs = none', 'subs = ^-!',
  'error = {}', 'ghosts = a', ':=', ' = ', 'a := label', 'x = --a|', '__proto__ = -a|', 'constructor', '[styles]', '🌧',
  '-a-|\n\n> f\n\n-a-|',
]; // prettier-ignore

const randomText = (random: Random) =>
  Array.from({ length: 1 + random.integer(14) }, () => random.pick(words)).join(random.integer(3) === 0 ? '\n\n' : '');

/** Asserts that a diagram is accepted, refused with a line and a reason, or differs from what it describes. */
function checkDiagram(text: string): void {
  try {
    parseDiagram(text);
    runDiagram(text, () => of(1), assert.deepEqual);
  } catch (error) {
    const isRefused = error instanceof ConfigurationError && error.subject === 'diagram';
    if (!isRefused && !(error instanceof assert.AssertionError)) throw error;
  }
}

/** What the helpers for tests read: requests of hostile clients, and diagrams. */
export const testing: Family = {
  name: 'testing',
  async run(check, { choose }) {
    const server = await serveModel(answer);
    for (const [index, wire] of wires.entries()) {
      const sent = await requestOf(wire, server);
      for (const body of bodies) await check(`${wire}, the body ${body.slice(0, 60)}`, () => post(sent, body));
      for (let number = 0; number < choose(60, 1500); number++) {
        const seed = index * 1_000_000 + number;
        const body = replaceValue(JSON.parse(sent.body) as JsonValue, createRandom(seed));
        await check(`${wire}, seed ${seed}: ${body.slice(0, 200)}`, () => post(sent, body));
      }
    }
    for (const bytes of garbage)
      await check(`the bytes ${JSON.stringify(bytes.slice(0, 60))}`, () => sendBytes(server.port, bytes));
    await check('the server still answers, and ends', async () => {
      const model = modelByName('openai-chat', { baseUrl: server.url, apiKey: key, retry: false });
      const { error } = await outcome(model.stream(request));
      assert.equal(error, undefined, describe(error));
      await server.close();
      assert.equal(server.connections, 0);
    });
    for (let seed = 0; seed < choose(2000, 50_000); seed++) {
      const text = randomText(createRandom(seed));
      await check(`a diagram, seed ${seed}: ${JSON.stringify(text)}`, () => checkDiagram(text));
    }
  },
};
