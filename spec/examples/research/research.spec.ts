import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, toArray } from 'rxjs';
import { createAgent, runTurns, startState, tool, userMessage } from 'rivulet';
import { toolCall, scriptedModel } from 'rivulet/testing';
import { research } from '../../../examples/research/research.js';

const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
const script = ['I need to look.', [toolCall('look', {}, '1')], 'I saw it.', 'So it is.'];

describe('research', () => {
  it('research analyses, gathers evidence with tools, and concludes, in one run', async () => {
    const model = scriptedModel(script);
    const result = await firstValueFrom(
      createAgent({ model, tools: [look], system: 'Be brief.', orchestrator: research }).run('Is it?'),
    );
    expect(model.requests.map(({ tools }) => tools?.length ?? 0)).toEqual([0, 1, 1, 0]);
    expect(model.requests.map(({ messages }) => JSON.stringify(messages[0]).includes('First analyse'))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(
      result.messages.map(
        ({ role, parts }) =>
          `${role}: ${parts.map((part) => (part.type === 'text' ? part.text.split(' ')[0] : part.type)).join()}`,
      ),
    ).toEqual(['model: I', 'user: Now', 'model: toolCall', 'user: toolResult', 'model: I', 'user: Now', 'model: So']);
    expect(result).toMatchObject({ turns: 4, finishReason: 'stop', text: expect.stringMatching(/So it is\.$/) });
  });

  it('research continues from any stored state as if it had not been interrupted', async () => {
    const from = (state: ReturnType<typeof startState>) => {
      const context = { model: scriptedModel(script.slice(state.turn)), tools: [look], options: {} };
      return firstValueFrom(runTurns((at) => research.turn(at, context), state).pipe(toArray()));
    };
    const whole = await from(startState([userMessage('Is it?')]));
    const states = whole.flatMap((event) => (event.type === 'turn' && event.next ? [event.next] : []));
    expect(states).toHaveLength(3);
    for (const state of states) {
      const rest = await from(JSON.parse(JSON.stringify(state)) as typeof state);
      expect(rest).toEqual(whole.slice(-rest.length));
    }
  });

  it('research stops at maxTurns', async () => {
    const agent = createAgent({ model: scriptedModel(script), orchestrator: research, maxTurns: 1 });
    expect(await firstValueFrom(agent.run('Is it?'))).toMatchObject({ finishReason: 'maxTurns', turns: 1 });
  });
});
