import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { delay, firstValueFrom, from, lastValueFrom, map, mergeMap, of, range, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Agent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { RunResult } from '../../lib/core/event.js';
import { hasToolResults } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { tokenBudget } from '../../lib/agent/stopWhen.js';
import { createLimiter, limitModel } from '../../lib/models/limitModel.js';
import type { LimiterOptions } from '../../lib/models/limitModel.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { deadlineTool } from '../../lib/tools/deadlineTool.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { collectGarbage } from '../support/collectGarbage.js';

const DELTAS = 200;
const usage = { prompt_tokens: 10, completion_tokens: DELTAS, total_tokens: 10 + DELTAS };

const frame = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const deltas = frame({ content: 'delta ' }).repeat(DELTAS);
const call = (round: number) => ({
  tool_calls: [{ index: 0, id: `call_${round}`, function: { name: 'look', arguments: JSON.stringify({ round }) } }],
});
const end = `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
/** The bodies of the three responses of a run: two tool rounds, and the answer. */
const bodies = [
  deltas + frame(call(1)) + frame({}, 'tool_calls') + end,
  deltas + frame(call(2)) + frame({}, 'tool_calls') + end,
  deltas + frame({}, 'stop') + end,
];

/** A server that answers by the number of results in the request. Each response is sent in two writes. */
const serve = () =>
  createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      const answer = bodies[body.split('"role":"tool"').length - 1] ?? '';
      response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
      response.write(answer.slice(0, 5000));
      setImmediate(() => response.end(answer.slice(5000)));
    });
  });

/** An agent with a limiter, and with all tools of tools. */
function agentOf(model: Model, limits: LimiterOptions): Agent {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object', properties: { round: { type: 'number' } }, required: ['round'] },
    execute: ({ round }) => of({ round: Number(round), seen: 'a river' }),
  });
  const limited = limitTool(deadlineTool(look, 10_000), { concurrency: 4 });
  return createAgent({
    model: limitModel(model, createLimiter({ concurrency: 50, ...limits })),
    tools: [retryTool(cacheTool(limited, { size: 10 }))],
    stopWhen: tokenBudget(1e9),
  });
}

/** Whether a run has three turns of so many deltas. */
const isComplete = ({ text, turns, finishReason, messages }: RunResult, deltaCount: number): boolean =>
  text.replaceAll('\n', '') === 'delta '.repeat(3 * deltaCount) &&
  turns === 3 &&
  finishReason === 'stop' &&
  messages.length === 5;

const runAll = (agent: Agent, count: number) =>
  lastValueFrom(
    range(0, count).pipe(
      mergeMap(() => agent.run('Look.')),
      map((result) => isComplete(result, DELTAS)),
      toArray(),
    ),
  );

/** The heap and the handles when all sockets are closed. */
async function settled() {
  await firstValueFrom(of(0).pipe(delay(500)));
  for (let pass = 0; pass < 3; pass++) {
    collectGarbage();
    await firstValueFrom(of(0).pipe(delay(20)));
  }
  return { heap: process.memoryUsage().heapUsed / 2 ** 20, handles: process.getActiveResourcesInfo().length };
}

describe('load', () => {
  let server: Server;
  let baseUrl = '';
  beforeAll(async () => {
    server = serve();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('1,000 concurrent runs of 200 deltas and two tool rounds over HTTP leave no memory and no handles', async () => {
    const agent = agentOf(openaiChat('gpt-5', { baseUrl, apiKey: 'none', retry: false }), {
      requestsPerMinute: 1e6,
      tokensPerMinute: 1e12,
    });
    await runAll(agent, 200); // the first runs compile and fill caches
    const before = await settled();
    const results = await runAll(agent, 1000);
    expect(results).toEqual(Array.from({ length: 1000 }, () => true));
    const after = await settled();
    expect(after.handles).toBeLessThan(before.handles + 5); // jest has a few timers of its own
    // The window of the limiter remembers 3,000 requests of the last minute: 0.2 MB. One run holds about 20 kB.
    expect(after.heap - before.heap).toBeLessThan(4);
  });

  it('10,000 runs in sequence leave no memory and no handles', async () => {
    const chunks: Chunk[] = Array.from({ length: 20 }, () => ({ type: 'text', text: 'delta ' }));
    const finish: Chunk = {
      type: 'finish',
      reason: 'stop',
      usage: { input: 10, output: 20, total: 30 },
    };
    const model = scriptedModel(
      ({ messages }) => {
        const round = messages.filter(hasToolResults).length + 1;
        const last: Chunk[] = round <= 2 ? [toolCall('look', { round }, `call_${round}`)] : [];
        return from<Chunk[]>([...chunks, ...last, finish]);
      },
      { keep: 0 },
    );
    // No limits per minute: the limiter remembers the requests of the last minute, which is not a leak.
    const agent = agentOf(model, {});
    const runInSequence = async (count: number) => {
      let complete = 0;
      for (let run = 0; run < count; run++) if (isComplete(await firstValueFrom(agent.run('Look.')), 20)) complete++;
      return complete;
    };
    await runInSequence(5000); // V8 keeps up to 1 MB of code and feedback of the first runs
    const before = await settled();
    expect(await runInSequence(10_000)).toBe(10_000);
    const after = await settled();
    expect(after.handles).toBeLessThan(before.handles + 5); // jest has a few timers of its own
    // A leak of each run's result would be 20 MB. Code that is compiled late takes up to 3.
    expect(after.heap - before.heap).toBeLessThan(6);
  });
});
