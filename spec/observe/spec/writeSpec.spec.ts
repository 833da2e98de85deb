import { describe, expect, it } from '@jest/globals';
import { map, Subject, takeUntil, timer } from 'rxjs';
import * as rivulet from 'rivulet';
import { createAgent, tool } from 'rivulet';
import type { Agent, AgentOptions, Approve, Chunk, Tool } from 'rivulet';
import * as recordings from 'rivulet/recording';
import { writeSpec } from 'rivulet/recording';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { busyAgent, recordVirtually, weather } from '../recording/runs.js';
import { runSpec } from '../recording/runSpec.js';

const write = tool({
  name: 'write',
  description: 'Writes a file.',
  needsApproval: true,
  execute: () => timer(20).pipe(map(() => 'written')),
});

const agentOf = (options: Pick<AgentOptions, 'model'> & { readonly approve?: Approve }): Agent =>
  createAgent({ tools: [weather, write] as readonly Tool[], ...options });

const decided =
  (approve: boolean): Approve =>
  () =>
    timer(500).pipe(map(() => (approve ? { approve } : { approve, reason: 'not now' })));

const hidden = '\u202e\u2066\u200b\u2028\u009b\ufeff\u{e0041}\u2800';

/** Recorded runs, by what happens in them. */
const runs = {
  'a late tool, a retry and a stop': () =>
    recordVirtually(busyAgent(), (agent) => agent.stream('Oslo?', { stop: timer(1700) })),
  'a cancelled call': () =>
    recordVirtually(
      agentOf({ model: scriptedModel([[toolCall('weather', { city: 'Lisbon' }, 'c1')], 'Done']) }),
      (agent) => agent.stream('Lisbon?', { cancel: timer(400).pipe(map(() => 'c1')) }),
    ),
  'parallel tools, a failure and a retry': () => recordVirtually(busyAgent()),
  'an unsubscription in a tool': () =>
    recordVirtually(busyAgent(), (agent) => agent.stream('Oslo?').pipe(takeUntil(timer(400)))),
  'a failure of the model': () =>
    recordVirtually(agentOf({ model: scriptedModel([['Hello', { delay: 5 }, { error: new Error('busy') }]]) })),
  'an approval': () =>
    recordVirtually(agentOf({ model: scriptedModel([[toolCall('write')], 'Done']), approve: decided(true) })),
  'a denial': () =>
    recordVirtually(agentOf({ model: scriptedModel([[toolCall('write')], 'Done']), approve: decided(false) })),
  'texts that an editor hides': () =>
    recordVirtually(agentOf({ model: scriptedModel([`a${hidden}b`]) }), (agent) => agent.stream(`Hi ${hidden}`)),
  'a prompt': () =>
    recordVirtually(agentOf({ model: scriptedModel([[{ delay: 90 }, 'One.'], 'Two.']) }), (agent) => {
      const prompts = new Subject<string>();
      timer(50).subscribe(() => prompts.next('More'));
      return agent.stream('Hi', { prompts, history: [rivulet.userMessage('Earlier')] });
    }),
};

describe.each(Object.entries(runs))('writeSpec, for a run with %s', (_, record) => {
  const { lines, recording } = record();

  it('writeSpec writes a spec that reads the recording and passes', () => {
    const spec = writeSpec(recording, { fixture: './run.jsonl' });
    expect(runSpec(spec, { '/spec/run.jsonl': lines.join('\n') })).toHaveLength(1);
  });

  it('writeSpec writes a spec of marble diagrams that passes', () => {
    expect(runSpec(writeSpec(recording))).toHaveLength(1);
  });
});

describe('writeSpec', () => {
  const { lines, recording } = runs['a late tool, a retry and a stop']();
  const files = { '/spec/run.jsonl': lines.join('\n') };

  it.each([
    ['a fixture', { fixture: './run.jsonl' }],
    ['marble diagrams', {}],
  ])('the spec with %s fails when an operator is broken', (_, options) => {
    const lost = map((chunk: Chunk): Chunk => (chunk.type === 'text' ? { ...chunk, text: '' } : chunk));
    const broken = {
      ...rivulet,
      createAgent: (settings: AgentOptions) =>
        createAgent({ ...settings, model: rivulet.pipeModel(settings.model, lost) }),
    };
    expect(() => runSpec(writeSpec(recording, options), files, broken)).toThrow('deep equality');
  });

  it('the spec with marble diagrams shows the time of everything', () => {
    expect(writeSpec(recording)).toContain('expect(marbles).toEqual("180ms a 4ms b 39ms c 11ms d 7ms e 99ms f');
  });

  it.each([
    ['jest', "import { expect, it } from '@jest/globals';"],
    ['vitest', "import { expect, it } from 'vitest';"],
    ['node', "import { it } from 'node:test';"],
  ] as const)('writeSpec imports the functions of %s', (runner, line) => {
    expect(writeSpec(recording, { runner })).toContain(line);
    expect(writeSpec(recording, { runner, fixture: './a.jsonl', run: 1 })).toContain(line);
  });

  it('writeSpec escapes the characters by which code looks like other code', () => {
    const spec = writeSpec(runs['texts that an editor hides']().recording);

    expect(spec).not.toMatch(/[^\P{C}\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u);
    expect(spec).toContain(String.raw`a\u202e\u2066\u200b\u2028\u009b\ufeff\udb40\udc41\u2800b`);
  });

  it('writeSpec names the run of a recording with several', () => {
    const two = recordings.readRecording([...lines, ...lines.slice(1)]);
    expect(writeSpec(two, { run: 2, fixture: './a.jsonl' })).toContain('replayRun(recording, { run: 2 })');
  });
});
