/**
 * The loopback server of the benchmark, in a separate process, so that the client's CPU time does not include it. The
 * path of a request contains the scenario: `/text-20000/v1/chat/completions`. Prints its port.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  callsAnswer,
  closing,
  deltasOf,
  outputOf,
  parallelCallsOf,
  fragmentsOf,
  leading,
  recordsOf,
  spoken,
  textAnswer,
  textFrame,
  textFrames,
} from './wire.js';
import type { Api } from './wire.js';

/** The size of a write: that of the largest read of a socket. Large reads reduce the cost that all libraries share. */
const writeSize = 64 * 1024;
/** The milliseconds between two writes of a paced response. */
const pace = 5;
/** The milliseconds that a client needs to read and process a write, with a margin. */
const readTime = 0.08;
/** The number of deltas of a paced response. */
const pacedDeltas = 60;

const answers = new Map<string, Buffer>();

function built(key: string, build: () => Buffer): Buffer {
  const known = answers.get(key) ?? build();
  answers.set(key, known);
  return known;
}

function answerTo(api: Api, scenario: string, size: number, results: number): Buffer {
  const last = () => built(`${api} closing`, () => textAnswer(api, closing));
  if (scenario === 'text') return built(`${api} text ${size}`, () => textAnswer(api, deltasOf(size)));
  if (scenario === 'output') return built(`${api} output ${size}`, () => textAnswer(api, fragmentsOf(outputOf(size))));
  if (scenario === 'arguments')
    return results > 0 ? last() : built(`${api} arguments ${size}`, () => callsAnswer(api, parallelCallsOf(size)));
  if (scenario === 'records')
    return built(`${api} records ${size}`, () => textAnswer(api, fragmentsOf(recordsOf(size))));
  if (scenario === 'recordcall') {
    const call = { id: 'call_0', name: 'save', arguments: recordsOf(size) };
    return built(`${api} recordcall ${size}`, () => callsAnswer(api, [call]));
  }
  if ((scenario === 'rounds' || scenario === 'talks') && results < size) {
    const call = { id: `call_${results}`, name: 'save', arguments: JSON.stringify({ content: `round ${results}` }) };
    const deltas = scenario === 'talks' ? spoken : [];
    return built(`${api} ${scenario} ${results}`, () => callsAnswer(api, [call], deltas));
  }
  return last();
}

/** Counts the tool results of a request. In both APIs each contains the id of its call. */
function countResults(api: Api, body: Buffer): number {
  const field = api === 'openai' ? '"tool_call_id"' : '"tool_use_id"';
  let count = 0;
  for (let at = body.indexOf(field); at !== -1; at = body.indexOf(field, at + 1)) count++;
  return count;
}

function send(response: ServerResponse, answer: Buffer): void {
  let at = 0;
  const more = () => {
    while (at < answer.length) {
      const free = response.write(answer.subarray(at, (at += writeSize)));
      if (!free) {
        response.once('drain', more);
        return;
      }
    }
    response.end();
  };
  more();
}

/**
 * Writes each frame when the client has had the time to read the previous one, so that each is a read of its own, as
 * the deltas of a model are.
 */
function sendInWrites(response: ServerResponse, frames: readonly string[]): void {
  let at = 0;
  let next = 0;
  const write = () => {
    if (response.destroyed) return;
    if (performance.now() >= next) {
      next = performance.now() + readTime;
      response.write(frames[at++] ?? '');
    }
    if (at < frames.length) setImmediate(write);
    else response.end();
  };
  write();
}

/**
 * All paced responses are written in the same tick. The text of a delta is the time of its write: CLOCK_MONOTONIC,
 * which processes share.
 */
const paced = new Set<() => void>();
setInterval(() => {
  for (const write of paced) write();
}, pace);

function sendPaced(response: ServerResponse, api: Api): void {
  const frames = textFrames(api, ['']);
  const at = leading[api];
  let left = pacedDeltas;
  response.write(frames.slice(0, at).join(''));
  const write = () => {
    response.write(textFrame[api](`${process.hrtime.bigint()} `));
    if (--left > 0) return;
    paced.delete(write);
    response.end(frames.slice(at).join(''));
  };
  response.once('close', () => paced.delete(write));
  paced.add(write);
}

/** Sends half of a response, then resets the connection. */
function sendBroken(response: ServerResponse, answer: Buffer): void {
  response.write(answer.subarray(0, answer.length / 2), () => response.destroy());
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const apiOf = (url: string): Api =>
  /\/messages(\?|$)/.test(url) ? 'anthropic' : url.includes(':streamGenerateContent') ? 'google' : 'openai';

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, scenario = '', size = '0'] = /^\/([a-z]+)(?:-(\d+))?\//.exec(request.url ?? '') ?? [];
  const api = apiOf(request.url ?? '');
  const body = await bodyOf(request);
  if (scenario === 'mute') return;
  if (scenario === 'refused') {
    response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"overloaded"}}');
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (scenario === 'paced') sendPaced(response, api);
  else if (scenario === 'writes') sendInWrites(response, textFrames(api, deltasOf(Number(size))));
  else if (scenario === 'silent') response.flushHeaders();
  else if (scenario === 'broken') sendBroken(response, answerTo(api, 'text', Number(size), 0));
  else send(response, answerTo(api, scenario, Number(size), countResults(api, body)));
}

const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  respond(request, response).catch((thrown: unknown) => response.destroy(thrown as Error));
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' && address ? address.port : 0);
});
process.once('disconnect', () => process.exit());
