import { describe, expect, it } from '@jest/globals';
import { concatMap, map, timer } from 'rxjs';
import { askTool, createAgent, tool, type AgentOptions, type Tool } from 'rivulet';
import { readRecording, recordRun, recordedEvent, replayRun, writeSpec } from 'rivulet/recording';
import { inVirtualTime, scriptedModel, toolCall } from 'rivulet/testing';
import { runSpec } from './runSpec.js';

const answer = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
const question = { message: 'How many?', schema: answer };

const named = (name: string, options: object) => tool({ name, description: name, execute: () => name, ...options });
const tools: readonly Tool[] = [
  named('quick', {}),
  named('slow', { execute: () => timer(20).pipe(map(() => 'slow')) }),
  named('pay', { needsApproval: true }),
  named('need', { parameters: { type: 'object', properties: { z: {} }, required: ['z'] } }),
  askTool({ name: 'asks', description: 'asks', execute: (_, { ask }) => ask(question) }),
  askTool({
    name: 'onces',
    description: 'onces',
    execute: (_, { ask, once }) => once('step', () => 1).pipe(concatMap(() => ask(question))),
  }),
];

/** The calls of each turn, by the names of their tools. */
const turns: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'a call': [['quick']],
  'a quick and a slow call': [['quick', 'slow']],
  'several quick and slow calls': [['slow', 'quick', 'slow', 'quick']],
  'invalid calls': [['quick', 'need', 'quick', 'slow']],
  'an unknown tool': [['nobody', 'quick']],
  'a question': [['asks']],
  'a question after a turn': [['slow'], ['asks']],
  'a question and a quick call': [['asks', 'quick']],
  'a question and a slow call': [['asks', 'slow']],
  'a question and an approval': [['asks', 'pay']],
  'a step, a question and an approval': [['onces', 'pay']],
  'an approval and a question': [['pay', 'onces']],
  'two questions': [['asks', 'asks']],
};

const settings: Readonly<Record<string, Partial<AgentOptions>>> = {
  'one at a time': { toolConcurrency: 1 },
  'two at a time': { toolConcurrency: 2 },
  'all at once': { toolConcurrency: Infinity },
};

/** The lines of a run that may wait, and of the one that resumes it. */
function record(
  names: readonly (readonly string[])[],
  options: Partial<AgentOptions>,
  checkpoints: boolean,
  content: boolean,
) {
  const lines: string[] = [];
  const script = names.map((calls, turn) => calls.map((name, index) => toolCall(name, {}, `${turn}${index}`)));
  const agent = recordRun(
    createAgent({ model: scriptedModel([...script, 'Done.']), tools, ...options }),
    (line) => void lines.push(line),
    { content },
  );
  const last = inVirtualTime(() => agent.stream('Hi', { checkpoints })).values.at(-1)?.value;
  const { waiting = [], checkpoint } = last?.type === 'result' ? last.result : {};
  const ids = (isQuestion: boolean) =>
    waiting.filter((call) => Boolean(call.question) === isQuestion).map(({ id }) => id);
  const results = Object.fromEntries(ids(true).map((id) => [id, { n: 1 }]));
  const decisions = Object.fromEntries(ids(false).map((id) => [id, { approve: true as const }]));
  if (checkpoint) inVirtualTime(() => agent.resume(checkpoint, { results, decisions, checkpoints }));
  return lines;
}

/** On a real clock, a millisecond may end after any line. */
const ticking = (lines: readonly string[], after: number): readonly string[] =>
  lines.map((line, index) => line.replace(/"at":(\d+)/, (_, at) => `"at":${Number(at) + (index > after ? 1 : 0)}`));

const rows = Object.keys(turns).flatMap((turn) =>
  Object.keys(settings).flatMap((setting) =>
    ['no checkpoints', 'checkpoints', 'masked content'].map((kind) => [turn, setting, kind] as const),
  ),
);

describe('a run that is repeated', () => {
  it.each(rows)('has the events and the spec of the recorded one: %s, %s, with %s', (turn, setting, kind) => {
    const lines = record(turns[turn]!, settings[setting]!, kind === 'checkpoints', kind !== 'masked content');
    for (let after = 0; after < lines.length; after++) {
      const recording = readRecording(ticking(lines, after));
      for (const run of recording.runs.keys()) {
        const replayed = replayRun(recording, { run: run + 1 });
        const { values } = inVirtualTime(() => replayed.play(createAgent(replayed.agent)));
        expect(values.map(({ value }) => recordedEvent(value))).toEqual(replayed.events.map(({ event }) => event));
      }
    }
    const recording = readRecording(lines);
    if (setting === 'two at a time')
      for (const run of recording.runs.keys())
        for (const text of [
          writeSpec(recording, { run: run + 1, fixture: './runs.jsonl' }),
          writeSpec(recording, { run: run + 1 }),
        ])
          expect(runSpec(text, { '/spec/runs.jsonl': lines.join('\n') })).toHaveLength(1);
  });
});
