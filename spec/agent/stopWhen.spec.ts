import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { ConfigurationError } from '../../lib/core/errors.js';
import { startState } from '../../lib/core/event.js';
import type { RunState } from '../../lib/core/event.js';
import { isTurn } from '../../lib/core/eventGuards.js';
import { repairHistory } from '../../lib/core/history.js';
import { filePart, modelMessage, userMessage } from '../../lib/core/message.js';
import type { Usage } from '../../lib/core/usage.js';
import { runTurns } from '../../lib/agent/runTurns.js';
import {
  allOf,
  costBudget,
  elapsed,
  reachedLimit,
  repeatedCalls,
  toConditions,
  tokenBudget,
  toolCalled,
  turnCount,
} from '../../lib/agent/stopWhen.js';
import type { StopWhen } from '../../lib/agent/stopWhen.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { typed } from '../../lib/agent/typed.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool, virtual } from '../support/toolCalls.js';

const stateOf = (turn: number, usage: Usage = {}): RunState => ({ messages: [], turn, usage });
const prices = { input: 1, output: 10 };
const usage: Usage = { input: 60, output: 40, total: 100 };

/** A model that calls tools for ever. Each turn takes 10 ms and uses 100 tokens. */
const endless = () =>
  scriptedModel(() => [{ delay: 10 }, 'text', toolCall('look'), { type: 'finish', reason: 'toolCalls', usage }]);
const look = anyTool('look', () => 'nothing');
const agentWith = (stopWhen: StopWhen) => createAgent({ model: endless(), tools: [look], stopWhen });

describe('the conditions of stopWhen', () => {
  it.each<[string, unknown]>([
    ['no price', {}],
    ['no price of the output', { input: 1 }],
    ['no price of the input', { output: 1 }],
    ['NaN', { input: NaN, output: 1 }],
    ['a text', { input: '1', output: 1 }],
    ['a misspelt price', { input: 1, output: 1, cachedinput: 1 }],
    ['a number', 5],
    ['null', null],
  ])('costBudget refuses prices with %s: their cost would never reach the budget', (_, wrong) => {
    expect(() => costBudget({ prices: wrong as never, max: 1 })).toThrow(ConfigurationError);
  });

  it.each([
    ['turnCount', turnCount(3), [stateOf(2), stateOf(3), stateOf(4)], [false, true, true]],
    [
      'tokenBudget',
      tokenBudget(100),
      [stateOf(1), stateOf(1, { total: 99 }), stateOf(1, { total: 100 })],
      [false, false, true],
    ],
    [
      'costBudget',
      costBudget({ prices, max: 0.01 }),
      [stateOf(1), stateOf(1, { output: 999 }), stateOf(1, { output: 1000 })],
      [false, false, true],
    ],
  ])('%s holds from its limit on', (name, condition, states, expected) => {
    expect(condition.name).toBe(name);
    expect(states.map((state) => condition.holds(state, 0))).toEqual(expected);
  });

  it.each([
    ['turnCount', turnCount],
    ['tokenBudget', tokenBudget],
    ['elapsed', elapsed],
    ['repeatedCalls', repeatedCalls],
  ])('%s names itself in the error for a number that is none', (name, create) => {
    expect(() => create(NaN)).toThrow(`${name} is NaN.`);
  });

  it('toolCalled does not take a file for the result of a tool', () => {
    const parts = [
      { type: 'toolResult', id: '1', name: 'look', result: 1 },
      filePart(new Uint8Array(1), 'text/plain', 'submit'),
    ] as const;
    expect(toolCalled('submit').holds({ ...stateOf(1), messages: [userMessage(parts)] }, 0)).toBe(false);
  });

  it('toolCalled holds if the last turn has a result of the tool that is not an error', () => {
    const result = (name: string, error?: string) => ({
      ...stateOf(1),
      messages: [
        userMessage('Hi'),
        modelMessage([{ type: 'toolCall', id: '1', name, arguments: {} }]),
        userMessage([{ type: 'toolResult', id: '1', name, ...(error ? { error } : { result: 1 }) }]),
      ],
    });
    const condition = toolCalled('submit');
    expect(condition.holds(result('submit'), 0)).toBe(true);
    expect(condition.holds(result('submit', 'Invalid arguments'), 0)).toBe(false);
    expect(condition.holds(result('look'), 0)).toBe(false);
    expect(condition.holds(startState([userMessage('Hi')]), 0)).toBe(false);
    const later = { ...stateOf(2), messages: [...result('submit').messages, ...result('look').messages.slice(1)] };
    expect(condition.holds(later, 0)).toBe(false);
  });

  it('allOf holds if all of its conditions hold, and has their names', () => {
    const both = allOf(turnCount(2), tokenBudget(100), function free() {
      return true;
    });
    expect(both.name).toBe('turnCount and tokenBudget and free');
    expect(both.holds(stateOf(2, { total: 99 }), 0)).toBe(false);
    expect(both.holds(stateOf(1, { total: 100 }), 0)).toBe(false);
    expect(both.holds(stateOf(2, { total: 100 }), 0)).toBe(true);
    expect(allOf().holds(stateOf(2), 0)).toBe(false);
  });

  it.each([['turnCount'], [undefined], [{ name: 'x' }], [5]])('stopWhen rejects %j before any request', (condition) => {
    const model = scriptedModel(['Hi']);
    const agent = createAgent({ model, stopWhen: [turnCount(5), condition as unknown as StopWhen] as StopWhen });
    expect(observe(agent.stream('Hi')).error).toMatchObject({ code: 'configuration', subject: 'options' });
    expect(model.requests).toEqual([]);
    expect(() => allOf(condition as never)).toThrow('Pass turnCount(5)');
  });

  it('reachedLimit returns the name of the first condition that holds', () => {
    const isLate = ({ turn }: RunState) => turn > 1;
    expect(reachedLimit(toConditions([turnCount(9), isLate, elapsed(5)]), stateOf(2), 10)).toBe('isLate');
    expect(reachedLimit(toConditions([turnCount(9), isLate, elapsed(5)]), stateOf(1), 10)).toBe('elapsed');
    expect(reachedLimit(toConditions([() => true]), stateOf(1), 0)).toBe('stopWhen');
    expect(reachedLimit(toConditions(costBudget({ max: 0 })), stateOf(1), 0)).toBe('costBudget');
    expect(reachedLimit(toConditions([]), stateOf(1), 0)).toBeUndefined();
  });

  it.each([
    () => turnCount(NaN),
    () => tokenBudget(-1),
    () => costBudget({ prices, max: NaN }),
    () => elapsed(Number('x')),
  ])('%s is rejected', (create) => expect(create).toThrow(expect.objectContaining({ code: 'configuration' })));
});

describe('stopWhen', () => {
  it('stopWhen ends a run after the turn in which its condition holds, as in its diagram', () =>
    diagram('runTurns.stopWhen', ({ turn1, turn2 }: Streams<'turn1' | 'turn2'>) =>
      runTurns((state) => (state.turn === 0 ? turn1 : turn2), startState([]), { stopWhen: tokenBudget(500) }),
    ));

  it.each<[string, StopWhen, number, string]>([
    ['turnCount', turnCount(2), 2, 'turnCount'],
    ['toolCalled', toolCalled('look'), 1, 'toolCalled'],
    ['tokenBudget', tokenBudget(250), 3, 'tokenBudget'],
    ['costBudget', costBudget({ prices, max: 0.0012 }), 3, 'costBudget'],
    ['elapsed', elapsed(35), 4, 'elapsed'],
    ['a function', ({ turn }) => turn === 2, 2, 'stopWhen'],
    ['several conditions', [turnCount(5), tokenBudget(150)], 2, 'tokenBudget'],
    ['allOf', allOf(turnCount(3), tokenBudget(100)), 3, 'turnCount and tokenBudget'],
    ['no condition', [], 20, ''],
  ])('stopWhen ends the run of an agent: %s', (_, stopWhen, turns, rawReason) =>
    virtual(({ flush }) => {
      const run = observe(agentWith(stopWhen).run('Hi'));
      flush();
      expect(run.completed).toBe(true);
      expect(run.values).toMatchObject([
        rawReason ? { finishReason: 'limit', rawReason, turns } : { finishReason: 'maxTurns', turns },
      ]);
    }),
  );

  it('stopWhen leaves a complete history: the tools of the last turn have run', async () => {
    const { messages } = await firstValueFrom(agentWith(turnCount(2)).run('Hi'));
    expect(messages.map(({ role }) => role)).toEqual(['model', 'user', 'model', 'user']);
    const history = [userMessage('Hi'), ...messages];
    expect(repairHistory(history)).toBe(history);
  });

  it('stopWhen counts from the start of each subscription', () =>
    virtual(({ flush }) => {
      const run = agentWith(elapsed(15)).run('Hi');
      const first = observe(run);
      flush();
      const second = observe(run);
      flush();
      expect([first.values[0]?.turns, second.values[0]?.turns]).toEqual([2, 2]);
    }));

  it('stopWhen is checked when a run is resumed: a state that is beyond the limit starts no turn', async () => {
    const model = endless();
    const context = { model, tools: [look], options: {} };
    const run = (start: RunState) =>
      runTurns((state, { last }) => toolLoop.turn(state, { ...context, last }), start, { stopWhen: tokenBudget(150) });
    const events = await lastValueFrom(run(startState([userMessage('Hi')])).pipe(toArray()));
    const [first, second] = events.filter(isTurn);
    expect([first?.finishReason, second?.finishReason]).toEqual(['toolCalls', 'limit']);
    const checkpoint = JSON.parse(JSON.stringify(first?.next)) as RunState;
    expect((await lastValueFrom(run(checkpoint).pipe(toArray()))).filter(isTurn)).toMatchObject([
      { turn: 2, finishReason: 'limit', rawReason: 'tokenBudget', next: null },
    ]);
    const beyond = { ...checkpoint, usage: { total: 150 } };
    const { requests } = model;
    const before = requests.length;
    expect(observe(run(beyond)).values).toEqual([
      { type: 'turn', turn: 1, finishReason: 'limit', rawReason: 'tokenBudget', next: null },
    ]);
    expect(requests).toHaveLength(before);
  });

  it('stopWhen ends a run with typed output without an output', async () => {
    const agent = createAgent({
      model: endless(),
      tools: [look],
      output: typed(z.object({ city: z.string() })),
      stopWhen: turnCount(1),
    });
    expect(await firstValueFrom(agent.run('Hi'))).toMatchObject({ finishReason: 'limit', output: undefined });
  });

  it('stopWhen fails the run with the error that a condition throws', () => {
    const model = scriptedModel(() => [toolCall('look')]);
    const broken = () => {
      throw new Error('broken');
    };
    expect(observe(createAgent({ model, tools: [look], stopWhen: broken }).run('Hi')).error).toEqual(
      new Error('broken'),
    );
  });

  it('stopWhen does not change a run that ends by itself', async () => {
    const agent = createAgent({ model: scriptedModel(['Hello']), stopWhen: () => true });
    expect(await firstValueFrom(agent.run('Hi'))).toMatchObject({ finishReason: 'stop', text: 'Hello' });
  });
});
