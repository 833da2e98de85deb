import { describe, expect, it, jest } from '@jest/globals';
import { firstValueFrom, lastValueFrom, map, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { isToolResult } from '../../lib/core/eventGuards.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { repeatedCalls, turnCount } from '../../lib/agent/stopWhen.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { limitRepeatsTool } from '../../lib/tools/limitRepeatsTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool, callOf, turnOf } from '../support/toolCalls.js';

/** A run whose turns make one call each, with these arguments, and then answer. */
const failedRunOf = (turns: readonly JsonObject[], max: number) => {
  const execute = jest.fn(() => 'nothing');
  const model = scriptedModel([...turns.map((args) => [toolCall('search', args)]), 'Sorry.']);
  const agent = createAgent({ model, tools: [limitRepeatsTool(anyTool('search', execute), { max })] });
  return { execute, agent };
};
const codesOf = ({ agent }: ReturnType<typeof failedRunOf>) =>
  lastValueFrom(agent.stream('Find it.').pipe(toArray())).then((events) =>
    events.filter(isToolResult).map(({ code, result }) => code ?? result),
  );

describe('limitRepeatsTool', () => {
  it('limitRepeatsTool does not execute a call that was made too often, as in its diagram', () =>
    diagram('limitRepeatsTool', ({ calls }: Streams<'calls', unknown>) => {
      const results: unknown[] = [];
      failedRunOf([{}, {}, {}], 2)
        .agent.stream('Find it.')
        .subscribe((event) => {
          if (isToolResult(event)) results.push(event.error === undefined ? event.result : 'not executed');
        });
      return calls.pipe(map((_, index) => results[index]));
    }));

  it('limitRepeatsTool counts turns in a row with the same arguments', async () => {
    const same = failedRunOf([{ q: 1 }, { q: 1 }, { q: 1 }, { q: 1 }], 2);
    expect(await codesOf(same)).toEqual(['nothing', 'nothing', 'not_executed', 'not_executed']);
    expect(same.execute).toHaveBeenCalledTimes(2);
    const alternating = failedRunOf([{ q: 1 }, { q: 2 }, { q: 1 }, { q: 2 }], 1);
    expect(await codesOf(alternating)).toEqual(['nothing', 'nothing', 'nothing', 'nothing']);
  });

  it.each([false, true])(
    'limitRepeatsTool executes a call in 3 turns by default, with eagerTools: %s',
    async (eager) => {
      const execute = jest.fn(() => 'nothing');
      const model = scriptedModel([...Array.from({ length: 5 }, () => [toolCall('search')]), 'Sorry.']);
      const tools = [limitRepeatsTool(anyTool('search', execute))];
      const { messages } = await firstValueFrom(createAgent({ model, tools, eagerTools: eager }).run('Find it.'));
      const codes = messages.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === 'toolResult' ? [part.code] : [])),
      );
      expect(codes).toEqual([undefined, undefined, undefined, 'not_executed', 'not_executed']);
      expect(execute).toHaveBeenCalledTimes(3);
    },
  );

  it('limitRepeatsTool tells the model how often it made the call, and what to do', async () => {
    const { messages } = await firstValueFrom(failedRunOf([{}, {}], 1).agent.run('Find it.'));
    expect(messages[3]?.parts[0]).toMatchObject({
      code: 'not_executed',
      error:
        'The call was not executed: you made it in the previous turn too, with the same arguments. ' +
        'Use the results that you have, change the arguments, or answer without this tool.',
    });
    const later = await firstValueFrom(failedRunOf([{}, {}, {}], 2).agent.run('Find it.'));
    expect(later.messages[5]?.parts[0]).toMatchObject({
      error: expect.stringContaining('in the previous 2 turns too'),
    });
  });

  it('limitRepeatsTool executes the call again after another input of the user', async () => {
    const { agent, execute } = failedRunOf([{}], 1);
    const { messages } = await firstValueFrom(agent.run('Find it.'));
    const again = failedRunOf([{}], 1);
    const history = [userMessage('Find it.'), ...messages];
    await firstValueFrom(again.agent.run('Again.', { history }));
    expect([execute.mock.calls.length, again.execute.mock.calls.length]).toEqual([1, 1]);
  });

  it('limitRepeatsTool executes the call again after an input that follows its results', async () => {
    const execute = jest.fn(() => 'nothing');
    const model = scriptedModel(({ messages }) => (messages.length < 5 ? [toolCall('search')] : 'Sorry.'));
    const tools = [limitRepeatsTool(anyTool('search', execute), { max: 1 })];
    const limited = await firstValueFrom(createAgent({ model, tools, stopWhen: turnCount(1) }).run('Find it.'));
    const history = [userMessage('Find it.'), ...limited.messages];
    await firstValueFrom(createAgent({ model, tools }).run('Again.', { history }));
    expect(execute).toHaveBeenCalledTimes(2);
  });

  it.each([1, 2])('limitRepeatsTool does not count the turn of the call itself (max: %i)', (max) => {
    const answers = [3, 2, 1].map((turns) => {
      const made = (id: string) => modelMessage([callOf('other', {}, `o${id}`), callOf('search', {}, id)]);
      const results = userMessage([{ type: 'toolResult', id: '1', name: 'search', result: 1 }]);
      const messages = ['1', '2', '3']
        .slice(-turns)
        .flatMap((id) => [made(id), results])
        .slice(0, -1);
      const limited = limitRepeatsTool(
        anyTool('search', () => 'nothing'),
        { max },
      );
      const { values } = observe(turnOf(callOf('search', {}, '3')).pipe(executeTools([limited], { messages })));
      return values.filter(isToolResult).map(({ code, result }) => code ?? result);
    });
    expect(answers.flat()).toEqual(['not_executed', max === 1 ? 'not_executed' : 'nothing', 'nothing']);
  });

  it('limitRepeatsTool executes equal calls of one turn', async () => {
    const execute = jest.fn(() => 1);
    const model = scriptedModel([[toolCall('search'), toolCall('search')], 'Done.']);
    const tools = [limitRepeatsTool(anyTool('search', execute), { max: 1 })];
    await firstValueFrom(createAgent({ model, tools }).run('Find it.'));
    expect(execute).toHaveBeenCalledTimes(2);
  });

  it('limitRepeatsTool and repeatedCalls tell the model first, and then end the run', async () => {
    const execute = jest.fn(() => 'nothing');
    const model = scriptedModel(() => [toolCall('search', { q: 1 })]);
    const tools = [limitRepeatsTool(anyTool('search', execute), { max: 3 })];
    const agent = createAgent({ model, tools, stopWhen: repeatedCalls(5) });
    const result = await firstValueFrom(agent.run('Find it.'));
    expect(result).toMatchObject({ finishReason: 'limit', rawReason: 'repeatedCalls', turns: 5 });
    expect(execute).toHaveBeenCalledTimes(3);
    expect(result.messages).toHaveLength(10);
  });

  it.each([0, NaN])('limitRepeatsTool and repeatedCalls reject %s', (max) => {
    const invalid = expect.objectContaining({ code: 'configuration' });
    expect(() =>
      limitRepeatsTool(
        anyTool('f', () => 1),
        { max },
      ),
    ).toThrow(`max is ${max}.`);
    expect(() => repeatedCalls(max)).toThrow(invalid);
  });
});
