import { concat, map, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent, progress, retryModel, tool } from 'rivulet';
import type { Agent, OptionsOf, RunEvent } from 'rivulet';
import { readRecording, recordRun } from 'rivulet/recording';
import type { RunRecording } from 'rivulet/recording';
import * as z from 'zod';
import { inVirtualTime, scriptedModel, toolCall } from 'rivulet/testing';
import type { VirtualRun } from '../../../lib/testing/inVirtualTime.js';

/** A tool with progress, which takes 300 ms for Oslo and fails for Atlantis. */
export const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city: name }) =>
    concat(
      timer(100).pipe(map(() => progress(`asking the station of ${name}`))),
      timer(name === 'Oslo' ? 200 : 700).pipe(
        map(() => {
          if (name === 'Atlantis') throw new Error('There is no weather for Atlantis.');
          return { celsius: name === 'Oslo' ? -3 : 16 };
        }),
      ),
    ),
});

/** A run with thinking, parallel tools with progress (one of them fails late), a retry and three turns. */
export const busyAgent = (): Agent => {
  const overloaded = Object.assign(new Error('overloaded'), { retryable: true });
  const model = scriptedModel(
    [
      [
        { delay: 180 },
        { type: 'thinking', text: 'Two cities. ' },
        { delay: 5 },
        { type: 'thinking', text: 'Ask for both.' },
        { delay: 40 },
        'Let me ',
        { delay: 12 },
        'look.',
        { delay: 8 },
        toolCall('weather', { city: 'Oslo' }),
        toolCall('weather', { city: 'Atlantis' }, ''),
        { type: 'finish', reason: 'toolCalls', usage: { input: 120, output: 30 } },
      ],
      [{ delay: 50 }, 'It is ', { delay: 30 }, { error: overloaded }],
      [
        { delay: 90 },
        'It is ',
        { delay: 10 },
        'cold in ',
        { delay: 2500 },
        'Oslo.',
        { type: 'finish', reason: 'stop', usage: { input: 200, output: 12 } },
      ],
    ],
    { name: 'model-1' },
  );
  return createAgent({
    model: retryModel(model, { count: 2, delay: 400 }),
    system: 'Be brief.',
    tools: [weather],
    toolConcurrency: Infinity,
  });
};

/** Records a run in virtual time. */
export function recordVirtually(
  agent: Agent,
  run: (recorded: Agent) => Observable<RunEvent> = (recorded) => recorded.stream('How warm is it in Oslo?'),
  options: OptionsOf<typeof recordRun> = {},
): { readonly lines: readonly string[]; readonly recording: RunRecording; readonly played: VirtualRun<RunEvent> } {
  const lines: string[] = [];
  const sink = (line: string) => void lines.push(line);
  const played = inVirtualTime(() => run(recordRun(agent, sink, options)));
  return { lines, recording: readRecording(lines), played };
}
