import { DBOS } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import { inspect } from 'node:util';
import { concatMap, defer, from, map, of, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import { messageText } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { typed } from '../../../lib/agent/typed.js';
import { durableWorker } from '../../../lib/service/stores/dbos/index.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { agentTool } from '../../../lib/tools/agentTool.js';
import { postgresPorts } from './ports.js';

// A worker process. Its arguments are the URL of the database, the delay of a chunk, its queue, its release (the second
// one has a tool more, and another text for its model) and the share of statements that fail. It notes each request and
// each call in the table `noted`. The prompt `poison` kills it.

const [url = '', delay = '15', queue = 'rivulet', release = '1', faults = '0'] = process.argv.slice(2);
const { pool, store, log } = postgresPorts(url, Number(faults));

/** Notes what was executed, before it takes effect. */
const note = (kind: string, key: string): Observable<unknown> =>
  defer(() =>
    from(
      pool.query('insert into noted (kind, key, pid, queue) values ($1, $2, $3, $4)', [kind, key, process.pid, queue]),
    ),
  );

/** A model whose response follows from the conversation: `answers` by the number of the model's messages before. */
const model = (name: string, answers: (turn: number) => readonly (string | Chunk)[]) =>
  scriptedModel(
    ({ messages }: { readonly messages: readonly Message[] }): Observable<Chunk> => {
      const start = messages.findIndex(({ role }) => role === 'user'); // a repair is asked for by a later one
      const turn = messages.slice(start + 1).filter(({ role }) => role === 'model').length;
      const prompt = messages[start];
      if (prompt && messageText(prompt).startsWith('poison')) process.kill(process.pid, 'SIGKILL');
      const word = (prompt ? messageText(prompt) : '').split(' ')[0] ?? '';
      const chunks = answers(turn).flatMap((chunk): Chunk[] =>
        typeof chunk === 'string' ? [{ type: 'text', text: chunk.replace('WORD', word) }] : [chunk],
      );
      const reason = chunks.some(({ type }) => type === 'toolCallFragment') ? 'toolCalls' : 'stop';
      const finish: Chunk = { type: 'finish', reason, usage: { input: 5, output: 5, total: 10 } };
      return note('request', `${name} ${word} ${turn}`).pipe(
        concatMap(() => [...chunks, finish]),
        concatMap((chunk) => timer(Number(delay)).pipe(map(() => chunk))),
      );
    },
    { keep: 0 },
  );
const call = (name: string, id: string): Chunk[] => [toolCall(name, { word: id }, id)].flat();
const parameters = z.object({ word: z.string() });
const worker = (name: string, extra: object = {}) =>
  tool({
    name,
    description: 'Works.',
    parameters,
    execute: ({ word }, { idempotencyKey }) =>
      note(name, idempotencyKey).pipe(
        concatMap(() => of(`${name} ${word}`).pipe(concatMap((value) => timer(Number(delay)).pipe(map(() => value))))),
      ),
    ...extra,
  });
const inner = createAgent({
  model: model('inner', (turn) => (turn === 0 ? ['Inner. ', ...call('lookup', 'i1')] : ['Inner ', 'done.'])),
  tools: [worker('lookup')],
});
const agent = createAgent({
  model: model('outer', (turn) => {
    switch (turn) {
      case 0:
        return ['Two ', 'calls. ', ...call('lookup', 'a1'), ...call('charge', 'a2')];
      case 1:
        return ['Ask ', 'an agent. ', ...call('research', 'b1')];
      case 2:
        return ['Now ', 'pay. ', ...call('pay', 'c1')];
      case 3:
        return ['{"done":'];
      default:
        return ['{"done":', '"WORD"}'];
    }
  }),
  tools: [
    worker('lookup'),
    worker('charge', { atMostOnce: true }),
    worker('pay', { needsApproval: true }),
    ...(release === '2' ? [worker('measure')] : []),
    agentTool(inner, { name: 'research', description: 'Asks.', parameters, prompt: ({ word }) => word }),
  ],
  output: typed(z.object({ done: z.string() })),
  toolConcurrency: 2,
});

const running = durableWorker(agent as never, {
  dbos: DBOS,
  databaseUrl: url,
  pool,
  connect: () => new pg.Client({ connectionString: url }),
  store,
  log,
  recoveryInterval: 300,
  retention: 3000,
  queue,
  onError: (thrown) => process.stderr.write(`${inspect(thrown)}\n`),
});
running.run.subscribe({
  next: () => process.send?.(running.id),
  error: (thrown: unknown) => {
    process.stderr.write(`the worker is lost: ${inspect(thrown)}\n`);
    process.exit(1);
  },
});
process.on('SIGTERM', () => running.shutdown().subscribe({ complete: () => process.exit(0) }));
process.on('disconnect', () => process.exit(0)); // the check has ended
