// Inferred types that a package exports with `declaration: true`: each of them must have a public name, or none.
import { filter, map, of } from 'rxjs';
import * as z from 'zod';
import {
  accumulateToolCalls,
  agentTool,
  asKnownEvent,
  consolidate,
  createAgent,
  endRun,
  endTurn,
  executeTools,
  fallback,
  filePart,
  isRunError,
  ofType,
  openai,
  partialArguments,
  partialOutput,
  progress,
  retryTool,
  startState,
  stopOn,
  tool,
  toolCallsOf,
  toolCatalogue,
  toText,
  toView,
  typed,
  userMessage,
} from 'rivulet';
import type { Chunk, Message, Part, RunError, RunEvent, Tool, View } from 'rivulet';
import { anthropicTools } from 'rivulet/anthropic';
import { conversation, fromServerSentEvents, remoteAgent } from 'rivulet/chat';
import { responsesTools } from 'rivulet/openai';
import { readRecording, recordRun } from 'rivulet/recording';
import { agentHandler, createRuns, keepChats, memoryStore, nodeListener, shareRun } from 'rivulet/service';
import { inVirtualTime, operatorContract, scriptedModel, toolCall } from 'rivulet/testing';

export const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
export const search = tool({
  name: 'search',
  description: 'Searches.',
  parameters: z.object({ query: z.string() }),
  execute: ({ query }) => of(progress({ step: 1 }), query),
});
export const patient = retryTool(add);
export const model = fallback([openai('gpt-6.1-terra'), scriptedModel([[toolCall('add')], 'Hi'])]);
export const agent = createAgent({ model, tools: [add, search] });
export const sub = agentTool(agent, { name: 'sub', description: 'Asks another agent.' });
export const outer = createAgent({ model, tools: [sub, patient], output: typed(z.object({ sum: z.number() })) });
export const catalogue = toolCatalogue([add, search]);
export const remoteCatalogue = toolCatalogue(of<readonly Tool[]>([]));

export const events$ = agent.stream('Hi');
export const result$ = outer.run('Hi');
export const text$ = events$.pipe(toText());
export const results$ = events$.pipe(ofType('toolResult'));
export const nested$ = outer.stream('Hi').pipe(ofType('nested'));
export const known$ = events$.pipe(map((event) => asKnownEvent(event)));
export const ends$ = events$.pipe(filter((event) => event.type === 'turn' || event.type === 'result'));
export const view$ = events$.pipe(toView());
export const fragments$ = agent.stream('Hi', { fragments: true as boolean });
export const partial$ = fragments$.pipe(partialArguments());
export const output$ = outer.stream('Hi').pipe(partialOutput());
export const pipe$ = of<Chunk>().pipe(
  stopOn(of(1)),
  accumulateToolCalls(),
  consolidate(),
  executeTools([add, search]),
  endTurn(startState([])),
  endRun(),
);

export const textOf = (event: RunEvent) => (event.type === 'text' ? event : undefined);
export const resultOf = (part: Part) => (part.type === 'toolResult' ? part : undefined);
export const calls = (view: View) =>
  view.messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'toolCall'));
export const files = ({ parts }: Message) => parts.filter((part) => part.type === 'file');
export const image = filePart(new URL('https://example.com/a.png'), 'image/png');
export const asked = toolCallsOf(userMessage('Hi'));
export const phaseOf = (error: RunError) => (error.code === 'timeout' ? error.phase : error);
export const failure = (thrown: unknown) => (isRunError(thrown) && thrown.code === 'http' ? thrown : undefined);

export const chat = conversation(agent);
export const remote = remoteAgent('/agent');
export const received$ = fromServerSentEvents('/run', {});
export const handler = agentHandler(agent, { chats: keepChats(memoryStore()) });
export const listener = nodeListener(handler);
export const runs = createRuns();
export const shared = shareRun(events$);
export const recorded = recordRun(agent, (line) => void line);
export const recording = readRecording('');
export const virtual = inVirtualTime(() => events$);
export const contract = operatorContract(
  map((event: RunEvent) => event),
  { source: [] },
);
export const shell = responsesTools.shell(({ commands }) =>
  commands.map(() => ({ stdout: '', stderr: '', exitCode: 0 })),
);
export const bash = anthropicTools.bash({ execute: ({ command }) => command ?? '' });
export class Chat {
  readonly text$ = agent.stream('Hi').pipe(toText());
  readonly calls$ = agent.stream('Hi').pipe(ofType('toolCall'));
}
