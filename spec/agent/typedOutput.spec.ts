import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { startState } from '../../lib/core/event.js';
import { userMessage } from '../../lib/core/message.js';
import type { OutputError } from '../../lib/core/runErrors.js';
import { validateText } from '../../lib/agent/outputRepair.js';
import { runTurns } from '../../lib/agent/runTurns.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import { twoPhase } from '../../lib/agent/twoPhase.js';
import { typedOutput } from '../../lib/agent/typedOutput.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { observe } from '../support/observe.js';
import { add, city, json, native, nothing, oneAtATime, onlyTools, oslo, outputOf, run } from './typedRun.js';

describe('typedOutput', () => {
  describe('typedOutput with a model that accepts a schema', () => {
    it('sends the JSON Schema, streams the JSON, and returns the validated and typed value', async () => {
      const model = scriptedModel([[json.slice(0, 9), json.slice(9)]], { capabilities: native });
      const { output, text } = await firstValueFrom(createAgent({ model, output: typed(city) }).run('Oslo?'));
      const people: number = output.people;
      expect([output, people, text]).toEqual([oslo, 700_000, json]);
      expect(model.requests[0]?.output).toMatchObject({ type: 'object', required: ['name', 'people'] });
    });

    it('runs tools before the output', async () => {
      const seen = run([['Let me see.', toolCall('add', { a: 1, b: 2 })], json], native, { tools: [add] });
      expect(await outputOf(seen)).toEqual(oslo);
      expect(seen.model.requests.every(({ output }) => output !== undefined)).toBe(true);
    });

    it('sends the validation message after an invalid response, and keeps both messages in the history', async () => {
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
      ['text that is not JSON', 'Oslo has many people.', 'not JSON'],
      ['an empty reply', '', 'empty'],
      ['a value of another type', '[]', 'expected object'],
    ])('fails on %s after maxRepairs, with the raw text', async (_, text, said) => {
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
    ] as const)('sends no further request for a response that was %s', async (_, finish, reason) => {
      const seen = run(() => ['I cannot say', finish], native);
      await expect(seen.events).rejects.toMatchObject({ code: 'output', reason, text: 'I cannot say' });
      expect(seen.model.requests).toHaveLength(1);
    });

    it('ends a run that was stopped, without output and without repair', async () => {
      const seen = run([['{"name":', { type: 'finish', reason: 'stopped' }], json], native);
      expect((await seen.events).at(-1)).toMatchObject({ result: { finishReason: 'stopped', output: undefined } });
      expect(seen.model.requests).toHaveLength(1);
    });

    it('fails if tools have used all turns', async () => {
      await expect(
        run(() => [toolCall('add', { a: 1, b: 2 })], native, { tools: [add], maxTurns: 2 }).events,
      ).rejects.toMatchObject({
        reason: 'maxTurns',
      });
    });

    it('asks for a repair of an output with too many levels', async () => {
      const deep = '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000);
      expect(await firstValueFrom(validateText({ type: 'object' }, deep))).toEqual({
        invalid: 'it has more than 500 levels of objects and arrays',
      });
    });

    it('accepts JSON in a code fence, and validates asynchronously', async () => {
      const schema = city.refine(async ({ people }) => people > 0, 'people must be positive');
      expect(await outputOf(run(['```json\n' + json + '\n```'], native, { output: typed(schema) }))).toEqual(oslo);
      await expect(
        run(() => '{"name":"Oslo","people":-1}', native, { output: typed(schema), maxRepairs: 0 }).events,
      ).rejects.toThrow('people must be positive');
    });

    it.each([
      ['is not at the beginning', 'Hi:\n' + json + '\n```'],
      ['is not at the end', '```json\n' + json + 'end'],
      ['is on one line', '```' + json + '```'],
    ])('asks for a repair of JSON with a code fence that %s', async (_, text) => {
      const seen = run([text, json], native);
      expect(await outputOf(seen)).toEqual(oslo);
      expect(seen.model.requests).toHaveLength(2);
    });

    it('accepts a plain JSON Schema', async () => {
      const plain = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
      expect(await outputOf(run([json], native, { output: typed(plain) }))).toEqual(oslo);
      await expect(run(() => '{}', native, { output: typed(plain), maxRepairs: 0 }).events).rejects.toThrow(
        'missing required "name"',
      );
    });
  });

  it('typedOutput sends an instruction to a model that supports neither schemas nor tools', async () => {
    const seen = run([json], nothing, { system: 'Be exact.' });
    expect(await outputOf(seen)).toEqual(oslo);
    const system = JSON.stringify(seen.model.requests[0]?.messages[0]);
    expect(system).toContain('Be exact.');
    expect(system).toContain('JSON Schema');
  });

  it('typedOutput asks with a tool if the model does not accept a schema and tools together', async () => {
    const both = run([[toolCall('return_result', oslo)]], oneAtATime, { tools: [add], orchestrator: typedOutput });
    expect(await outputOf(both)).toEqual(oslo);
    expect(both.model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['add', 'return_result']);
    expect(both.model.requests[0]).not.toHaveProperty('output');
  });

  it.each([
    ['a schema', native],
    ['a tool', onlyTools],
    ['an instruction', nothing],
  ])('typedOutput reports a schema that cannot be sent as %s', async (_, capabilities) => {
    const seen = run([json], capabilities, { output: typed(z.date()) });
    await expect(seen.events).rejects.toThrow('The output: this schema cannot be converted to JSON Schema');
  });

  it('typedOutput without an output schema equals toolLoop', () => {
    const model = scriptedModel(['Hi']);
    const { values } = observe(typedOutput.turn(startState([userMessage('Hi')]), { model, tools: [], options: {} }));
    expect(values.at(-1)).toMatchObject({ type: 'turn', next: null });
    expect(values).toEqual(
      observe(toolLoop.turn(startState([userMessage('Hi')]), { model: scriptedModel(['Hi']), tools: [], options: {} }))
        .values,
    );
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
    'resumed from any of its turns continues as an uninterrupted run ($name)',
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
