import { asyncScheduler, defer, map, merge, NEVER, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Agent, AgentOptions, RunOptions } from '../../lib/agent/createAgent.js';
import type { CallAnswers, WaitingCall } from '../../lib/core/approval.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { RunEvent, RunResult, StreamEvent } from '../../lib/core/event.js';
import type { Tool, ToolContext } from '../../lib/core/tool.js';
import type { AskContext } from '../../lib/tools/ask/askOptions.js';
import { askTool } from '../../lib/tools/askTool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { virtual } from './toolCalls.js';

export const anything = { type: 'object' };
export const account = z.object({ account: z.string() });

/** A tool that asks, and does what `execute` says. */
export const asking = (execute: (context: AskContext & Pick<ToolContext, 'progress'>) => unknown, name = 'pay'): Tool =>
  askTool({ name, description: name, parameters: anything, execute: (_, context) => execute(context) });

export const whichAccount = ({ ask }: AskContext) => ask({ message: 'Which account?', schema: account });

const calls = (...names: readonly string[]) =>
  names.map((name, index) => toolCall(name, { prompt: 'Go.' }, `c${index + 1}`));

/** Calls these tools once, and then says "Done.", in each run. */
export const callsOnce = (fragments: readonly ReturnType<typeof toolCall>[], answer = 'Done.') =>
  scriptedModel(({ messages }) => (messages.at(-1)?.parts[0]?.type === 'toolResult' ? answer : [...fragments]));

export const agentWith = (tools: readonly Tool[], options: Partial<AgentOptions> = {}): Agent =>
  createAgent({
    model: callsOnce(calls(...tools.map(({ name }) => name))),
    tools,
    toolConcurrency: Infinity,
    ...options,
  });

/** An agent inside a tool. */
export const subAgent = () =>
  createAgent({ model: callsOnce([toolCall('pay', {}, 'i1')], 'Inner.'), tools: [asking(whichAccount)] });

/** What an event says, in short: `frame type id`. Nested events have the id of the question. */
export function label(event: StreamEvent, path = ''): string {
  const { type, id = '', event: inner, result, error, code } = event as StreamEvent & Record<string, unknown>;
  if (type === 'nested') return label(inner as StreamEvent, `${path}${String(id)}/`);
  const end = type === 'toolResult' ? `: ${JSON.stringify(result ?? code ?? error)}` : '';
  return `${type} ${path}${String(id)}${end}`;
}

const shown = /toolWaiting|toolStart|toolResult|toolProgress/;

/**
 * Runs in virtual time. `answers` maps a frame to answers, `given` are those of the run. Returns the labels with their
 * frames, and the result.
 */
export function run(
  start: (options: Omit<RunOptions, 'fragments'>) => Observable<RunEvent>,
  {
    answers,
    given,
    ...options
  }: Omit<RunOptions, 'answers'> & {
    readonly answers?: Readonly<Record<number, CallAnswers>>;
    readonly given?: RunOptions['answers'];
  } = {},
) {
  const labels: string[] = [];
  let result: RunResult | undefined;
  let error: Error | undefined;
  virtual(({ flush }) => {
    const later =
      answers && merge(NEVER, ...Object.entries(answers).map(([at, value]) => timer(+at).pipe(map(() => value))));
    const begun = asyncScheduler.now();
    defer(() => start({ ...options, answers: given ?? later })).subscribe({
      next(event) {
        if (event.type === 'result') ({ result } = event);
        if (shown.test(label(event))) labels.push(`${asyncScheduler.now() - begun} ${label(event)}`);
      },
      error: (thrown: unknown) => (error = thrown as Error),
    });
    flush();
  });
  if (error) throw error;
  if (!result) throw new Error('The run has not ended.');
  return { labels, result };
}

export const stored = ({ checkpoint }: RunResult): Checkpoint => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;

export const lastResults = ({ messages }: RunResult) =>
  messages
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === 'toolResult')
    .map(({ result, code }) => result ?? code);

/** What a person answers to a question. */
export const answerTo = ({ question }: Pick<WaitingCall, 'question'>) => ({ text: `to ${question?.message ?? ''}` });

/** An answer to each question, and an approval of each other call. */
export const answersTo = (waiting: readonly WaitingCall[]): CallAnswers => ({
  results: Object.fromEntries(waiting.flatMap((call) => (call.question ? [[call.id, answerTo(call)]] : []))),
  decisions: Object.fromEntries(waiting.flatMap((call) => (call.question ? [] : [[call.id, { approve: true }]]))),
});
