import { concat, concatMap, finalize, from, map, NEVER, Observable, of, timer } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import type { Chunk } from '../../../../lib/core/chunk.js';
import { messageText } from '../../../../lib/core/message.js';
import type { Message } from '../../../../lib/core/message.js';
import { tool } from '../../../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../../../lib/testing/index.js';

/** What a run does. It is the prompt, as JSON. */
export interface Plan {
  /** `answer`: `turns` with `deltas` each. Another one ends by a message: a stop, a cancellation or a decision. */
  readonly kind: 'answer' | 'hangs' | 'tool hangs' | 'asks';
  /** The turns. All but the last call a tool. */
  readonly turns?: number;
  /** The deltas of text of each turn. */
  readonly deltas?: number;
  /** Milliseconds between two deltas. 0: they are emitted at once. */
  readonly delay?: number;
  /** Identifies the run in a report. */
  readonly word?: string;
}

/** What happened in a worker, and when, in milliseconds since 1970. */
export interface Report {
  readonly word: string;
  readonly at: number;
}

export const now = () => performance.timeOrigin + performance.now();
const report = (word = '') => process.send?.({ word, at: now() } satisfies Report);
const parameters = z.object({ word: z.string() });

const callOf = ({ kind, word = '' }: Plan, turn: number) =>
  kind === 'answer'
    ? toolCall('look', { word }, `c${turn}`)
    : toolCall(kind === 'asks' ? 'pay' : 'wait', { word }, 'c');

function answer(plan: Plan, turn: number): Observable<Chunk> {
  const { kind, turns = 2, deltas = 1, delay = 0, word } = plan;
  const text: Chunk = { type: 'text', text: 'word ' };
  const finish = (reason: 'stop' | 'toolCalls'): Chunk => ({ type: 'finish', reason, usage: { input: 5, output: 5 } });
  if (kind === 'hangs') return concat(of(text), NEVER).pipe(finalize(() => report(word)));
  const texts = from(Array<Chunk>(deltas).fill(text)).pipe(
    delay === 0 ? map((chunk) => chunk) : concatMap((chunk) => timer(delay).pipe(map(() => chunk))),
  );
  if (turn + 1 >= turns) return concat(texts, of(finish('stop')));
  return concat(texts, from([callOf(plan, turn)].flat()), of(finish('toolCalls')));
}

/** An agent whose prompts say what it does. */
export const createPlannedAgent = () =>
  createAgent({
    model: scriptedModel(
      ({ messages }: { readonly messages: readonly Message[] }) => {
        const [prompt] = messages;
        const plan = JSON.parse(prompt ? messageText(prompt) : '{}') as Plan;
        return answer(plan, messages.filter(({ role }) => role === 'model').length);
      },
      { keep: 0 },
    ),
    maxTurns: 1000,
    tools: [
      tool({ name: 'look', description: 'Looks.', parameters, execute: () => 'seen' }),
      tool({
        name: 'wait',
        description: 'Waits until it is aborted.',
        parameters,
        execute: ({ word }) => new Observable<string>(() => () => report(word)),
      }),
      tool({
        name: 'pay',
        description: 'Pays.',
        parameters,
        needsApproval: true,
        execute: ({ word }) => {
          report(word);
          return 'paid';
        },
      }),
    ],
  });
