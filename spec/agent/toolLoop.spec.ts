import { describe, expect, it } from '@jest/globals';
import { startState } from '../../lib/core/event.js';
import { systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { runTurns } from '../../lib/agent/runTurns.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import type { TurnOptions } from '../../lib/agent/orchestrator.js';
import { toolCall, scriptedModel } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import * as z from 'zod';

const add = tool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const start = startState([userMessage('1 + 2?')]);

function run(
  options: TurnOptions = {},
  tools = [add],
  script = [[toolCall('add', { a: 1, b: 2 })], 'Three.'] as Parameters<typeof scriptedModel>[0],
) {
  const model = scriptedModel(script);
  return { model, ...observe(runTurns((state) => toolLoop.turn(state, { model, tools, options }), start)) };
}

/** A message that counts how often its parts are read. */
function countedMessage(text: string, count: { reads: number }): Message {
  const { role, parts } = userMessage(text);
  return {
    role,
    get parts() {
      count.reads++;
      return parts;
    },
  };
}

describe('toolLoop', () => {
  it('toolLoop sends a request, runs the tools, sends their results back, and ends with a text response', () => {
    const { values, model, completed } = run();
    expect(values.map((event) => (event.type === 'message' ? `message of ${event.message.role}` : event.type))).toEqual(
      [
        'toolCall',
        'message of model',
        'toolStart',
        'toolResult',
        'message of user',
        'turn',
        'text',
        'message of model',
        'turn',
      ],
    );
    expect(completed).toBe(true);
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user']);
  });

  it('toolLoop sends the definitions of the tools, with their JSON Schema', () => {
    expect(run().model.requests[0]?.tools).toEqual(
      [
        {
          name: 'add',
          description: 'Adds.',
          parameters: {
            type: 'object',
            properties: { a: { type: 'number' }, b: { type: 'number' } },
            required: ['a', 'b'],
          },
        },
      ].map((definition) =>
        expect.objectContaining({ ...definition, parameters: expect.objectContaining(definition.parameters) }),
      ),
    );
  });

  it('toolLoop puts the system prompt before each request, and not into any event or state', () => {
    const { model, values } = run({ system: 'A secret prompt.' });
    for (const { messages } of model.requests) expect(messages[0]).toEqual(systemMessage('A secret prompt.'));
    expect(JSON.stringify(values)).not.toContain('secret');
  });

  it('toolLoop applies a tool choice to the first turn, and a function of the state to each turn', () => {
    expect(run({ toolChoice: 'required' }).model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      'required',
      undefined,
    ]);
    const byTurn = ({ turn }: { turn: number }) => (turn === 0 ? ({ name: 'add' } as const) : ('none' as const));
    expect(run({ toolChoice: byTurn }).model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      { name: 'add' },
      'none',
    ]);
  });

  it('toolLoop sends the settings of a request, and no settings of the run', () => {
    const settings = {
      temperature: 0,
      topP: 1,
      maxOutputTokens: 5,
      stopSequences: ['.'],
      seed: 7,
      thinking: true,
      parallelToolCalls: false,
      providerOptions: { x: {} },
    };
    const [request] = run({ ...settings, toolConcurrency: 2, eagerTools: true }).model.requests;
    expect(request).toEqual({ ...settings, messages: start.messages, tools: expect.any(Array) });
  });

  it('toolLoop sends another request after an empty response to results (call, empty, empty: three requests)', () => {
    const { model, values } = run({}, [add], [[toolCall('add', { a: 1, b: 2 })], '', '']);
    expect(model.requests).toHaveLength(3);
    expect(values.filter(({ type }) => type === 'message')).toHaveLength(2);
  });

  it('toolLoop resets the count of empty responses after each tool round (call, empty, call, empty, empty: five requests)', () => {
    const round = [toolCall('add', { a: 1, b: 2 })];
    expect(run({}, [add], [round, '', round, '', '']).model.requests).toHaveLength(5);
  });

  it('toolLoop replaces ids that the conversation has used', () => {
    const { values } = run(
      { newId: () => 'fresh' },
      [add],
      [[toolCall('add', { a: 1, b: 2 }, '0')], [toolCall('add', { a: 3, b: 4 }, '0')], 'ok'],
    );
    expect(values.filter((event) => event.type === 'toolCall').map(({ id }) => id)).toEqual(['0', 'fresh']);
  });

  it('toolLoop reports an invalid configuration as an error, before any request', () => {
    const { error, model } = run({}, [add, add]);
    expect(error).toMatchObject({ code: 'configuration', message: expect.stringContaining('"add"') });
    expect(model.requests).toHaveLength(0);
  });

  it('toolLoop reads the history once in a run, not once in each turn', () => {
    const readsOf = (turns: number): number => {
      const count = { reads: 0 };
      const history = Array.from({ length: 100 }, (_, at) => countedMessage(`message ${at}`, count));
      const script = [...Array.from({ length: turns - 1 }, () => [toolCall('add', { a: 1, b: 2 })]), 'Three.'];
      const context = { model: scriptedModel(script), tools: [add], options: {} };
      const { values } = observe(runTurns((state) => toolLoop.turn(state, context), startState(history)));
      expect(values.filter(({ type }) => type === 'turn')).toHaveLength(turns);
      return count.reads;
    };
    expect(readsOf(2)).toBeLessThanOrEqual(200);
    expect(readsOf(12)).toBe(readsOf(2));
  });
});
