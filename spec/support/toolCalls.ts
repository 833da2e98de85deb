import { concatMap, delay, from, of } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { expect } from '@jest/globals';
import type { Chunk, FinishReason } from '../../lib/core/chunk.js';
import type { TurnMessageEvent, StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import { isToolResult } from '../../lib/core/eventGuards.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool, ToolContext } from '../../lib/core/tool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import type { ExecuteToolsOptions } from '../../lib/operators/executeTools.js';

/** A tool that accepts any object. */
export const anyTool = (name: string, execute: (args: JsonObject, context: ToolContext) => unknown): Tool =>
  tool({ name, description: name, parameters: { type: 'object' }, execute });

/** A tool that waits for a decision. */
export const payTool = (): Tool =>
  tool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: {} },
    needsApproval: true,
    execute: () => 'paid',
  });

export const callOf = (name: string, args: JsonObject = {}, id = `id-${name}`): ToolCallEvent => ({
  type: 'toolCall',
  id,
  name,
  arguments: args,
});

export const finishOf = (reason: FinishReason = 'toolCalls'): Chunk => ({ type: 'finish', reason });

/** The model's message with these calls. */
export const messageOf = (...calls: ToolCallEvent[]): TurnMessageEvent => ({
  type: 'message',
  message: modelMessage(calls),
});

/** A turn in which the model calls tools. */
export const turnOf = (...calls: ToolCallEvent[]) => of<(TurnMessageEvent | Chunk)[]>(messageOf(...calls), finishOf());

/** Runs calls until they have ended. Returns their results without ids, and all events. */
export async function runCalls(tools: readonly Tool[], calls: readonly ToolCallEvent[], options?: ExecuteToolsOptions) {
  const events: StreamEvent[] = [];
  await new Promise<void>((resolve, reject) =>
    turnOf(...calls)
      .pipe(executeTools(tools, options))
      .subscribe({ next: (event) => events.push(event), error: reject, complete: resolve }),
  );
  const answers = events
    .filter(isToolResult)
    .map(({ error, result, code }) => (error === undefined ? { result } : { error, code }));
  return { events, answers };
}

/** Events in frames of their own: `eager` begins a call when all that has arrived with it is read. */
export const apart = (...events: readonly StreamEvent[]) =>
  from(events).pipe(concatMap((event) => of(event).pipe(delay(1))));

/** What is read in one go is read. */
export const nextTask = () => new Promise((resolve) => setTimeout(resolve));

/** Runs a test in virtual time. */
export const virtual = (test: (scheduler: Parameters<Parameters<TestScheduler['run']>[0]>[0]) => void) =>
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test);
