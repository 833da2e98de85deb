import { firstValueFrom, of } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { accumulateToolCalls, consolidate, createAgent, openai, tool } from 'rivulet';
import type { Chunk, RivuletError, RunResult } from 'rivulet';
import { createChunkEmitter, httpModel, sse } from 'rivulet/provider';
import type { Wire } from 'rivulet/provider';
import { providerContract, scriptedModel, toolCall } from 'rivulet/testing';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';

const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

const agent = createAgent({ model: scriptedModel([[toolCall('add', { a: 1, b: 2 })], 'That makes 3.']), tools: [add] });
agent.stream('1 + 2?').subscribe({
  next: (event) => {
    if (event.type === 'toolResult' && event.name === 'add' && event.error === undefined) event.result satisfies number;
    if (event.type === 'text') event.text satisfies string;
    // @ts-expect-error: there is no such event
    if (event.type === 'nonsense') return;
  },
  error: (error: RivuletError) => error.code satisfies string,
});

export const result: Promise<RunResult> = firstValueFrom(agent.run('1 + 2?'));
export const server: Promise<LoopbackServer> = serveModel(['Hello.']);
export const chunks: Observable<Chunk> = openai('gpt-6.1-terra', { apiKey: 'none' }).stream({ messages: [] });
export const piped = of<Chunk>({ type: 'text', text: 'a' }).pipe(accumulateToolCalls(), consolidate());

const wire: Wire = {
  framing: sse,
  encode: () => ({ path: '/chat', body: {} }),
  decode: (emit) => {
    const emitter = createChunkEmitter('acme', emit);
    return { next: () => 'end', end: (terminal) => void emitter.finishReason(terminal) };
  },
};
export const cases = providerContract({
  provider: 'acme',
  model: (options) => httpModel({ provider: 'acme', name: 'm', baseUrl: 'https://acme.example', wire }, options),
  answers: [{ title: 'a text', body: '', text: 'Hi' }],
});
