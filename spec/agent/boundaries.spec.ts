import { describe, expect, it } from '@jest/globals';
import { Subject, firstValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { startState } from '../../lib/core/event.js';
import type { RunEvent } from '../../lib/core/event.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { validateText } from '../../lib/agent/outputRepair.js';
import { requestOf } from '../../lib/agent/requestOf.js';
import { selectOrchestrator } from '../../lib/agent/selectOrchestrator.js';
import { repeatedCalls, costBudget, elapsed, toolCalled } from '../../lib/agent/stopWhen.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import { twoPhase } from '../../lib/agent/twoPhase.js';
import { typed } from '../../lib/agent/typed.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { add, city, json, native, nothing, oneAtATime, onlyTools, oslo } from './typedRun.js';

describe('the text of a typed output', () => {
  it.each([
    ['JSON', json],
    ['JSON between blanks', ` \n${json}\n`],
    ['JSON in a fence', '```\n' + json + '\n```'],
    ['JSON in a fence with its language', '```json\n' + json + '\n```'],
    ['JSON in a fence between blanks', '\n  ``` json \n' + json + '\n```  \n'],
  ])('may be %s', async (_, text) => {
    expect(await firstValueFrom(validateText(city, text))).toEqual({ value: oslo });
  });

  it.each([
    ['a fence of another language', '```yaml\n' + json + '\n```'],
    ['a fence that does not end', '```json\n' + json],
    ['a fence that does not begin', json + '\n```'],
    ['a fence in one line', '```' + json + '```'],
    ['a fence with the JSON in its first line', '```json' + json + '\n```'],
    ['text', 'Oslo'],
  ])('may not be %s', async (_, text) => {
    expect(await firstValueFrom(validateText(city, text))).toEqual({
      invalid: expect.stringMatching(/^it is not JSON \(.+\)$/s),
    });
  });

  it('is empty if it has only blanks', async () => {
    expect(await firstValueFrom(validateText(city, ' \n'))).toEqual({ invalid: 'it is empty' });
  });
});

describe('return_result', () => {
  const stream = (script: Script<ScriptedRequest>, options = {}, runOptions = {}) => {
    const model = scriptedModel(script, { capabilities: onlyTools });
    const { values, error } = observe(
      createAgent({ model, output: typed(city), ...options }).stream('Oslo?', runOptions),
    );
    return { model, values: values as readonly RunEvent[], error };
  };

  it('is described to the model, and answered with ok', () => {
    const { model, values } = stream([[toolCall('return_result', oslo, 'r')]]);
    expect(model.requests[0]?.tools).toMatchObject([
      {
        description:
          'Returns the result to the user. Call it exactly once, with the complete result, when you have all that ' +
          'you need. Always return your answer with this tool.',
      },
    ]);
    const results = [{ type: 'toolResult', id: 'r', name: 'return_result', result: 'ok' }];
    expect(values.filter(({ type }) => type === 'message').at(-1)).toMatchObject({ message: { parts: results } });
    expect(values.find(({ type }) => type === 'turn')).toMatchObject({ finishReason: 'stop', output: oslo });
  });

  it('is shown as the text that was suppressed if the model writes its JSON', () => {
    const { values } = stream([json]);
    expect(values).toMatchObject([
      { type: 'message' },
      { type: 'metadata', metadata: { suppressedText: json } },
      { type: 'text', text: json },
      { type: 'turn', output: oslo },
      { type: 'result', result: { output: oslo, text: json } },
    ]);
  });

  it('is shown if its arguments are an object, and nothing is shown if they are empty', () => {
    const fragment = { type: 'toolCallFragment', index: 0, id: 'r', name: 'return_result' } as const;
    const { values } = stream([[{ ...fragment, arguments: {} }, fragment, { ...fragment, arguments: oslo }]]);
    expect(values.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', text: json }]);
    expect(values.at(-1)).toMatchObject({ result: { output: oslo } });
  });

  it('hides its call, and shows those of other tools, with their fragments if they are asked for', () => {
    const script = [[toolCall('add', { a: 1, b: 2 }, 'a'), toolCall('return_result', oslo, 'r')]];
    const shown = (runOptions: object) =>
      stream(script, { tools: [add] }, runOptions)
        .values.filter(({ type }) => type.startsWith('tool'))
        .map((event) => `${event.type} ${'name' in event ? event.name : ''}`);
    expect(shown({})).toEqual(['toolCall add', 'toolStart add', 'toolResult add']);
    expect(shown({ fragments: true })).toEqual(['toolCallFragment add', ...shown({})]);
  });

  it('fails with its own error, not with that of another tool', () => {
    const failing = tool({
      name: 'fail',
      description: '',
      execute: () => {
        throw new Error('Broken.');
      },
    });
    const script = () => [
      toolCall('fail', {}, 'f'),
      toolCall('add', { a: 1, b: 2 }, 'a'),
      toolCall('return_result', {}, 'r'),
    ];
    const { error } = stream(script, { tools: [failing, add], maxRepairs: 0 });
    expect(error).toMatchObject({
      message: expect.stringContaining('The output is not valid: Invalid result: name: '),
    });
  });
});

describe('a typed output', () => {
  it('that is missing because tools used all turns has the text of the model', () => {
    const model = scriptedModel(() => ['Hm.', toolCall('add', { a: 1, b: 2 })], { capabilities: native });
    const { error } = observe(createAgent({ model, output: typed(city), tools: [add], maxTurns: 1 }).run('Oslo?'));
    expect(error).toMatchObject({ reason: 'maxTurns', text: 'Hm.' });
  });

  it('is requested as an instruction alone if the agent has none', () => {
    const model = scriptedModel([json], { capabilities: nothing });
    observe(createAgent({ model, output: typed(city) }).run('Oslo?'));
    const [system] = model.requests[0]?.messages ?? [];
    expect(system).toEqual({
      role: 'system',
      parts: [{ type: 'text', text: expect.stringMatching(/^Answer with JSON only, .*JSON Schema:\n\{/s) }],
    });
  });

  it('is kept if a prompt arrives in the last turn', () => {
    const prompts = new Subject<string>();
    const model = scriptedModel(['{"name":"Oslo","people":1}'], { capabilities: native });
    const results: unknown[] = [];
    createAgent({ model, output: typed(city), maxTurns: 1 })
      .stream('Oslo?', { prompts })
      .subscribe((event) => {
        if (event.type === 'text') prompts.next('More.');
        if (event.type === 'result') results.push(event.result);
      });
    expect(results).toMatchObject([{ output: { name: 'Oslo', people: 1 }, finishReason: 'maxTurns' }]);
  });

  it('in two phases keeps the messages with calls and their results, and ignores a truncated first phase', () => {
    const model = scriptedModel(
      [['Hm.', toolCall('add', { a: 1, b: 2 }, 'a')], ['So', { type: 'finish', reason: 'length' }], json],
      { capabilities: oneAtATime },
    );
    const { values } = observe(createAgent({ model, output: typed(city), tools: [add] }).run('Oslo?'));
    expect(values).toMatchObject([{ output: oslo, turns: 3 }]);
    expect(model.requests[2]?.messages).toEqual([
      userMessage('Oslo?'),
      modelMessage([{ type: 'text', text: 'Hm.' }, expect.objectContaining({ type: 'toolCall', id: 'a' }) as never]),
      userMessage([expect.objectContaining({ type: 'toolResult', id: 'a', result: 3 }) as never]),
    ]);
  });

  it('in two phases is not asked for after a stop', () => {
    const stop = new Subject<void>();
    const model = scriptedModel(['So.', json], { capabilities: oneAtATime });
    const results: unknown[] = [];
    createAgent({ model, output: typed(city), tools: [add] })
      .stream('Oslo?', { stop })
      .subscribe((event) => {
        if (event.type === 'metadata') stop.next();
        if (event.type === 'result') results.push(event.result);
      });
    expect(results).toMatchObject([{ finishReason: 'stopped', turns: 1 }]);
    expect(model.requests).toHaveLength(1);
  });

  it('in two phases is a turn with tools without a schema', () => {
    const context = { model: scriptedModel(['Hi']), tools: [], options: {} };
    const turn = twoPhase.turn(startState([userMessage('Hi')]), context);
    expect(observe(turn).values[0]).toEqual({ type: 'text', text: 'Hi' });
  });

  it('is wrapped in the request of a custom orchestrator if its schema is not an object', () => {
    const state = startState([userMessage('Hi')]);
    const list = { type: 'array', items: { type: 'string' } };
    expect(requestOf(state, { tools: [], options: {}, output: list }).output).toMatchObject({
      type: 'object',
      properties: { value: list },
    });
    expect(requestOf(state, { tools: [], options: {}, output: city }).output).toMatchObject({
      required: ['name', 'people'],
    });
  });

  it('selects its orchestrator also without tools', () => {
    const model = scriptedModel([], { capabilities: oneAtATime });
    expect(selectOrchestrator(model, { output: city }).name).toBe('typedOutput');
  });
});

describe('the request of toolLoop', () => {
  it('has no tool choice without tools, and no setting that is undefined', () => {
    const options = { toolChoice: 'required', temperature: undefined, seed: 1 } as const;
    const request = requestOf(startState([userMessage('Hi')]), { tools: [], options });
    expect(Object.keys(request).sort()).toEqual(['messages', 'seed']);
  });

  it('has idempotency keys for its calls also without the id of a run', () => {
    const keys: string[] = [];
    const note = tool({
      name: 'note',
      description: '',
      execute: (_, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        return 1;
      },
    });
    const run = (runId?: string) => {
      const model = scriptedModel([[toolCall('note', {}, 'c')]]);
      observe(toolLoop.turn(startState([userMessage('Hi')]), { model, tools: [note], options: {}, runId }));
      return keys.pop() ?? '';
    };
    expect(run('r')).toMatch(/^r\.0\.c\.\w{16}$/);
    expect(run()).not.toBe(run());
    expect(run()).not.toContain('undefined');
  });
});

describe('the conditions of a run', () => {
  const round = (name: string, args: object, id: string): readonly Message[] => [
    modelMessage([{ type: 'toolCall', id, name, arguments: args as never }]),
    userMessage([{ type: 'toolResult', id, name, result: 1 }]),
  ];
  const state = (...messages: readonly Message[]) => ({ messages, turn: 1, usage: {} });

  it('repeatedCalls holds if a call of the last turn was made in as many turns in a row', () => {
    const condition = repeatedCalls(2);
    const same = [...round('look', { at: 1 }, 'a'), ...round('look', { at: 1 }, 'b')];
    expect(condition.name).toBe('repeatedCalls');
    expect(condition.holds(state(...same), 0)).toBe(true);
    expect(condition.holds(state(...round('look', { at: 1 }, 'a')), 0)).toBe(false);
    expect(condition.holds(state(...same, ...round('look', { at: 2 }, 'c')), 0)).toBe(false);
    expect(condition.holds(state(), 0)).toBe(false);
    const two = modelMessage([
      { type: 'toolCall', id: 'd', name: 'other', arguments: {} },
      { type: 'toolCall', id: 'e', name: 'look', arguments: { at: 1 } },
    ]);
    expect(condition.holds(state(...same, two), 0)).toBe(true);
    expect(() => repeatedCalls(0)).toThrow('repeatedCalls');
  });

  it('costBudget without prices holds from the cost of the run on', () => {
    const condition = costBudget({ max: 2 });
    const costs = [{}, { cost: 1 }, { cost: 2 }].map((usage) => condition.holds({ ...state(), usage }, 0));
    expect(costs).toEqual([false, false, true]);
    expect(() => costBudget({ max: -1 })).toThrow('max');
  });

  it('toolCalled holds if one of several results is of the tool, and elapsed from its time on', () => {
    const both = userMessage([
      { type: 'toolResult', id: 'a', name: 'look', result: 1 },
      { type: 'toolResult', id: 'b', name: 'submit', result: 1 },
    ]);
    expect(toolCalled('submit')).toMatchObject({ name: 'toolCalled' });
    expect(toolCalled('submit').holds(state(both), 0)).toBe(true);
    expect([elapsed(5).holds(state(), 4), elapsed(5).holds(state(), 5)]).toEqual([false, true]);
  });
});
