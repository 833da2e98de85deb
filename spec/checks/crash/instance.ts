import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { concat, concatMap, delay, from, Observable, of, timer } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import { messageText } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { agentHandler } from '../../../lib/service/http/agentHandler.js';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import type { RunStore } from '../../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { ScriptedRequest } from '../../../lib/testing/scriptedModel.js';
import type { StoreRequest } from './storeServer.js';

// A service as one of several processes: its arguments are its own port and that of the store.

const [port = 0, storePort = 0] = process.argv.slice(2).map(Number);

const socket = connect(storePort, '127.0.0.1');
socket.on('close', () => process.exit(0)); // the check has ended
interface Reply {
  readonly id: number;
  readonly value?: unknown;
  /** The SQLSTATE of a write that was refused; another text: its connection broke. */
  readonly error?: string;
}
const answers = new Map<number, (reply: Reply) => void>();
let requests = 0;
createInterface({ input: socket }).on('line', (line) => {
  const reply = JSON.parse(line) as Reply;
  answers.get(reply.id)?.(reply);
  answers.delete(reply.id);
});
const failure = (error: string) =>
  Object.assign(new Error(`The store: ${error}`), { code: /^\d+$/.test(error) ? error : 'ECONNRESET' });
const ask = <T>(request: StoreRequest): Observable<T> =>
  new Observable((out) => {
    const id = ++requests;
    answers.set(id, ({ value, error }) => {
      if (error !== undefined) {
        out.error(failure(error));
        return;
      }
      out.next(value as T);
      out.complete();
    });
    socket.write(`${JSON.stringify({ id, ...request })}\n`);
  });

const store: RunStore = {
  get: (...args) => ask({ method: 'get', args }),
  put: (...args) => ask({ method: 'put', args }),
  delete: (...args) => ask({ method: 'delete', args }),
  list: (...args) => ask({ method: 'list', args }),
};

/** A tool whose execution is noted by the store before it takes effect. */
const worker = (name: string, needsApproval: boolean) =>
  tool({
    name,
    description: 'Works.',
    needsApproval,
    parameters: { type: 'object', properties: { word: { type: 'string' } } },
    execute: (args, { call }) =>
      concat(
        ask<undefined>({ method: 'executed', args: [name, call.id] }).pipe(concatMap(() => [])),
        of(`${name} ${(args as { word: string }).word}`).pipe(delay(5)),
      ),
  });

/**
 * A model whose response follows from the conversation: the last prompt is a word, and the names of the tools to call.
 * It reports a conversation with words of two users.
 */
const model = scriptedModel(
  ({ messages }: ScriptedRequest): Observable<Chunk> => {
    const texts = messages.map(messageText).filter((text) => text !== '');
    const users = new Set(
      messages.flatMap((message) => [...messageText(message).matchAll(/\b(user-\d+-)\d+/g)].map(([, user]) => user)),
    );
    if (users.size > 1) ask({ method: 'violation', args: [`a model was asked: ${texts.join(' | ')}`] }).subscribe();
    const start = messages.findLastIndex(
      ({ role, parts }) => role === 'user' && parts.some(({ type }) => type === 'text'),
    );
    const prompt = messages[start];
    const [word = '', ...steps] = (prompt ? messageText(prompt) : '').split(' ');
    const done = messages.slice(start + 1).filter(({ role }) => role === 'user').length;
    const step = steps[done];
    const text = step === undefined ? `Done ${word}.` : `Next ${word}.`;
    const chunks: Chunk[] = text.split(/(?= )/).map((piece) => ({ type: 'text', text: piece }));
    const call = step === undefined ? [] : [toolCall(step, { word }, `${word}-${done}`)].flat();
    const finish: Chunk = { type: 'finish', reason: step === undefined ? 'stop' : 'toolCalls' };
    return from([...chunks, ...call, finish]).pipe(concatMap((chunk) => timer(3).pipe(concatMap(() => of(chunk)))));
  },
  { keep: 0 },
);

/** A user has one run at a time, and one that a page has left may still end: a slot that is not freed shows. */
const MAX_RUNS = 6;

const agent = createAgent({ model, tools: [worker('lookup', false), worker('pay', true)] });
const handler = agentHandler<string>(agent, {
  store,
  checkpoints: true,
  context: (request) => request.headers.get('x-user') ?? '',
  owner: (user) => user,
  limits: { maxRunsPerOwner: MAX_RUNS },
  onError(thrown) {
    if (!String(thrown).includes('The store: ')) process.stderr.write(`${inspect(thrown)}\n`);
  },
});
createServer(nodeListener(handler)).listen(port, '127.0.0.1', () => process.send?.('ready'));
