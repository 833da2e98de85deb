import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent.js';
import type { AgentOptions } from '../../lib/agent.js';
import type { OutputError } from '../../lib/core/runErrors.js';
import type { Capabilities } from '../../lib/core/model.js';
import { startState } from '../../lib/core/event.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { runTurns } from '../../lib/orchestrators/runTurns.js';
import { selectOrchestrator } from '../../lib/orchestrators/selectOrchestrator.js';
import { toolLoop } from '../../lib/orchestrators/toolLoop.js';
import { twoPhase } from '../../lib/orchestrators/twoPhase.js';
import { typedOutput } from '../../lib/orchestrators/typedOutput.js';
import { toolCall, scriptedModel } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';

const city = z.object({ name: z.string(), people: z.number().int() });
const oslo = { name: 'Oslo', people: 700_000 };
const add = tool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

const native: Capabilities = { tools: true, typedOutput: true, typedOutputWithTools: true };
const onlyTools: Capabilities = { tools: true, typedOutput: false, typedOutputWithTools: false };
const nothing: Capabilities = { tools: false, typedOutput: false };
const oneAtATime: Capabilities = { tools: true, typedOutput: true, typedOutputWithTools: false };

function run(
  script: Script<ScriptedRequest>,
  capabilities: Capabilities | undefined,
  options: Partial<AgentOptions> = {},
) {
  const model = scriptedModel(script, { ...(capabilities ? { capabilities } : {}) });
  const agent = createAgent({ model, output: city, ...options } as AgentOptions<[], typeof city>);
  return { model, events: firstValueFrom(agent.stream('Oslo?').pipe(toArray())), result: undefined };
}
const outputOf = async ({ events }: ReturnType<typeof run>) => {
  const last = (await events).at(-1);
  return last?.type === 'result' ? last.result.output : undefined;
};
const textOf = async ({ events }: ReturnType<typeof run>) =>
  (await events).map((event) => (event.type === 'text' ? event.text : '')).join('');
const json = JSON.stringify(oslo);

describe('selectOrchestrator', () => {
  it.each<[string, Capabilities | undefined, boolean, boolean, string]>([
    ['without an output', native, true, false, 'toolLoop'],
    ['for an output', native, false, true, 'typedOutput'],
    ['for an output with tools', native, true, true, 'typedOutput'],
    ['for an output with tools where both do not go together', oneAtATime, true, true, 'twoPhase'],
    ['for an output without tools there', oneAtATime, false, true, 'typedOutput'],
    ['where there is no schema at all', onlyTools, true, true, 'typedOutput'],
    ['where nothing is known', undefined, true, true, 'typedOutput'],
  ])('chooses %s by what the model can do', (_, capabilities, tools, output, name) => {
    const model = scriptedModel([], { ...(capabilities ? { capabilities } : {}) });
    expect(selectOrchestrator(model, { tools: tools ? [add] : [], output: output ? city : undefined }).name).toBe(name);
  });
});

describe('typedOutput', () => {
  describe('of a model that takes a schema', () => {
    it('sends the JSON Schema, streams the JSON, and gives the validated value, typed', async () => {
      const model = scriptedModel([[json.slice(0, 9), json.slice(9)]], { capabilities: native });
      const { output, text } = await firstValueFrom(createAgent({ model, output: city }).run('Oslo?'));
      const people: number = output.people;
      expect([output, people, text]).toEqual([oslo, 700_000, json]);
      expect(model.requests[0]?.output).toMatchObject({ type: 'object', required: ['name', 'people'] });
    });

    it('lets tools run before', async () => {
      const seen = run([['Let me see.', toolCall('add', { a: 1, b: 2 })], json], native, { tools: [add] });
      expect(await outputOf(seen)).toEqual(oslo);
      expect(seen.model.requests.every(({ output }) => output !== undefined)).toBe(true);
    });

    it('sends a reply that does not validate back with what is wrong, and both stay in the history', async () => {
      const seen = run(['{"name":"Oslo","people":"many"}', json], native);
      expect(await outputOf(seen)).toEqual(oslo);
      expect(seen.model.requests[1]?.messages).toEqual([
        userMessage('Oslo?'),
        expect.objectContaining({ role: 'model' }),
        { role: 'user', parts: [{ type: 'text', text: expect.stringContaining('people') }] },
      ]);
      const messages = (await seen.events).filter((event) => event.type === 'message');
      expect(messages.map(({ message }) => message.role)).toEqual(['model', 'user', 'model']);
    });

    it.each([
      ['no JSON', 'Oslo has many people.', 'not JSON'],
      ['nothing', '', 'empty'],
      ['the wrong type', '[]', 'expected object'],
    ])('gives up on %s after maxRepairs, with the raw text', async (_, text, said) => {
      const seen = run(() => text, native, { maxRepairs: 1 });
      const error = (await seen.events.catch((thrown: unknown) => thrown)) as OutputError;
      expect(error).toMatchObject({
        code: 'output',
        reason: 'invalid',
        text,
        turn: 2,
        orchestrator: 'typedOutput',
        provider: 'scripted',
      });
      expect(error.message).toContain(said);
      expect(seen.model.requests).toHaveLength(2);
    });

    it.each([
      ['refused', { type: 'finish', reason: 'contentFilter' }, 'refused'],
      ['cut', { type: 'finish', reason: 'length' }, 'length'],
    ] as const)('does not ask again for an answer that was %s', async (_, finish, reason) => {
      const seen = run(() => ['I cannot say', finish], native);
      await expect(seen.events).rejects.toMatchObject({ code: 'output', reason, text: 'I cannot say' });
      expect(seen.model.requests).toHaveLength(1);
    });

    it('says so when the turns are used up by tools', async () => {
      await expect(
        run(() => [toolCall('add', { a: 1, b: 2 })], native, { tools: [add], maxTurns: 2 }).events,
      ).rejects.toMatchObject({
        reason: 'maxTurns',
      });
    });

    it('takes JSON out of a fence, and validates asynchronously', async () => {
      const schema = city.refine(async ({ people }) => people > 0, 'people must be positive');
      expect(await outputOf(run(['```json\n' + json + '\n```'], native, { output: schema }))).toEqual(oslo);
      await expect(
        run(() => '{"name":"Oslo","people":-1}', native, { output: schema, maxRepairs: 0 }).events,
      ).rejects.toThrow('people must be positive');
    });

    it('takes a plain JSON Schema', async () => {
      const plain = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
      expect(await outputOf(run([json], native, { output: plain }))).toEqual(oslo);
      await expect(run(() => '{}', native, { output: plain, maxRepairs: 0 }).events).rejects.toThrow(
        'missing required "name"',
      );
    });
  });

  describe('of a model that has only tools', () => {
    it('forces return_result, hides it, and streams its arguments as text', async () => {
      const seen = run(
        [
          [
            { type: 'toolCallFragment', index: 0, id: 'c1', name: 'return_result', arguments: '{"name":' },
            { type: 'toolCallFragment', index: 0, arguments: '"Oslo","people":700000}' },
          ],
        ],
        onlyTools,
      );
      expect(await outputOf(seen)).toEqual(oslo);
      expect((await seen.events).map((event) => (event.type === 'text' ? event.text : event.type))).toEqual([
        '{"name":',
        '"Oslo","people":700000}',
        'message',
        'message',
        'turn',
        'result',
      ]);
      expect(seen.model.requests[0]).toMatchObject({
        toolChoice: { name: 'return_result' },
        tools: [{ name: 'return_result' }],
      });
      expect(seen.model.requests[0]?.output).toBeUndefined();
    });

    it('runs all calls of the message, the other tools too; text is told as suppressedText, once', async () => {
      const seen = run(
        [
          ['Hm.', toolCall('add', { a: 1, b: 2 })],
          ['So: ', toolCall('add', { a: 1, b: 1 }), toolCall('return_result', oslo)],
        ],
        onlyTools,
        { tools: [add] },
      );
      expect(await outputOf(seen)).toEqual(oslo);
      const events = await seen.events;
      expect(events.filter((event) => event.type === 'metadata').map(({ metadata }) => metadata)).toEqual([
        { suppressedText: 'Hm.' },
        { suppressedText: 'So: ' },
      ]);
      expect(await textOf(seen)).toBe(json);
      expect(
        events
          .filter(({ type }) => (type as string) === 'toolResult')
          .map((event) => (event as { name?: string }).name),
      ).toEqual(['add', 'add']);
      expect(seen.model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', 'required']);
    });

    it('answers an invalid result as the error of the tool, a bounded number of times', async () => {
      const seen = run([[toolCall('return_result', { name: 'Oslo' })], [toolCall('return_result', oslo)]], onlyTools);
      expect(await outputOf(seen)).toEqual(oslo);
      expect(JSON.stringify(seen.model.requests[1]?.messages)).toContain('Invalid result: people');
      const endless = run(() => [toolCall('return_result', { name: 'Oslo' })], onlyTools);
      await expect(endless.events).rejects.toMatchObject({
        reason: 'invalid',
        text: '{"name":"Oslo"}',
        message: expect.stringContaining('people'),
      });
      expect(endless.model.requests).toHaveLength(3);
    });

    it('takes JSON that was written as text, and asks again for words', async () => {
      expect(await outputOf(run([json], onlyTools))).toEqual(oslo);
      expect(await outputOf(run(['Oslo is big.', [toolCall('return_result', oslo)]], onlyTools))).toEqual(oslo);
    });

    it('wraps a result that is no object', async () => {
      const schema = z.array(z.string());
      const seen = run([[toolCall('return_result', { result: ['a', 'b'] })]], onlyTools, { output: schema });
      expect(await outputOf(seen)).toEqual(['a', 'b']);
      expect(await textOf(seen)).toBe('["a","b"]');
    });

    it('does not let a tool of the user shadow it', async () => {
      const shadow = tool({ name: 'return_result', description: '', execute: () => 1 });
      await expect(run([json], onlyTools, { tools: [shadow] }).events).rejects.toMatchObject({
        code: 'configuration',
        subject: 'tools',
      });
    });
  });

  it('of a model without either goes by instruction', async () => {
    const seen = run([json], nothing, { system: 'Be exact.' });
    expect(await outputOf(seen)).toEqual(oslo);
    const system = JSON.stringify(seen.model.requests[0]?.messages[0]);
    expect(system).toContain('Be exact.');
    expect(system).toContain('JSON Schema');
  });

  it('without an output is toolLoop', () => {
    const model = scriptedModel(['Hi']);
    const { values } = observe(typedOutput.turn(startState([userMessage('Hi')]), { model, tools: [], options: {} }));
    expect(values.at(-1)).toMatchObject({ type: 'turn', next: null });
    expect(values).toEqual(
      observe(toolLoop.turn(startState([userMessage('Hi')]), { model: scriptedModel(['Hi']), tools: [], options: {} }))
        .values,
    );
  });
});

describe('twoPhase', () => {
  const script: Script<ScriptedRequest> = [
    ['Let me see.', toolCall('add', { a: 1, b: 2 })],
    [toolCall('add', { a: 3, b: 4 })],
    'I know it now.',
    json,
  ];

  it('asks with tools until none is called, then for the schema without tools', async () => {
    const seen = run(script, oneAtATime, { tools: [add] });
    expect(await outputOf(seen)).toEqual(oslo);
    expect(seen.model.requests.map(({ tools, output }) => [tools?.length ?? 0, output !== undefined])).toEqual([
      [1, false],
      [1, false],
      [1, false],
      [0, true],
    ]);
  });

  it('suppresses the text of the first phase but tells it, each once; its last reply is not stored', async () => {
    const seen = run(script, oneAtATime, { tools: [add] });
    expect(await textOf(seen)).toBe(json);
    const events = await seen.events;
    expect(events.filter((event) => event.type === 'metadata').map(({ metadata }) => metadata)).toEqual([
      { suppressedText: 'Let me see.' },
      { suppressedText: 'I know it now.' },
    ]);
    expect(JSON.stringify(seen.model.requests.at(-1)?.messages)).not.toContain('I know it now.');
  });

  it('goes to the second phase also after a reply without calls, and after empty ones', async () => {
    expect(await outputOf(run(['No tool needed.', json], oneAtATime, { tools: [add] }))).toEqual(oslo);
    expect(
      await outputOf(run([[toolCall('add', { a: 1, b: 2 })], '', '', json], oneAtATime, { tools: [add] })),
    ).toEqual(oslo);
  });

  it('repairs in the second phase', async () => {
    expect(await outputOf(run(['ok', '{}', json], oneAtATime, { tools: [add] }))).toEqual(oslo);
  });

  it('says so when it was refused, or the turns are over', async () => {
    const refused = run([['I will not.', { type: 'finish', reason: 'contentFilter' }]], oneAtATime, { tools: [add] });
    await expect(refused.events).rejects.toMatchObject({
      reason: 'refused',
      text: 'I will not.',
      orchestrator: 'twoPhase',
    });
    await expect(run(() => 'hm', oneAtATime, { tools: [add], maxTurns: 1 }).events).rejects.toMatchObject({
      reason: 'maxTurns',
    });
  });
});

describe('a run of any orchestrator', () => {
  it.each([
    [typedOutput, native, [['a', toolCall('add', { a: 1, b: 2 }, '1')], 'no json', json]],
    [
      typedOutput,
      onlyTools,
      [
        [toolCall('add', { a: 1, b: 2 }, '1')],
        [toolCall('return_result', {}, '2')],
        [toolCall('return_result', oslo, '3')],
      ],
    ],
    [twoPhase, oneAtATime, [['a', toolCall('add', { a: 1, b: 2 }, '1')], 'done', '{}', json]],
    [toolLoop, native, [['a', toolCall('add', { a: 1, b: 2 }, '1')], 'b']],
  ] as const)(
    'resumed from any of its turns goes on as an undisturbed one ($name)',
    async (orchestrator, capabilities, script) => {
      const turnsFrom = (state: ReturnType<typeof startState>) => {
        const lines = script as unknown as Script<ScriptedRequest> & readonly unknown[];
        const model = scriptedModel(lines.slice(state.turn) as unknown as Script<ScriptedRequest>, { capabilities });
        const context = { model, tools: [add], options: {}, ...(orchestrator === toolLoop ? {} : { output: city }) };
        return firstValueFrom(runTurns((at) => orchestrator.turn(at, context), state).pipe(toArray()));
      };
      const whole = await turnsFrom(startState([userMessage('Oslo?')]));
      const states = whole.flatMap((event) => (event.type === 'turn' && event.next ? [event.next] : []));
      expect(states.length).toBeGreaterThan(0);
      for (const state of states) {
        const stored = JSON.parse(JSON.stringify(state)) as typeof state;
        const rest = await turnsFrom(stored);
        expect(rest).toEqual(whole.slice(-rest.length));
      }
    },
  );
});
