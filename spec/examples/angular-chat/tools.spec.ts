import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, from, toArray } from 'rxjs';
import { executeTools, toolDefinition } from 'rivulet';
import { chatTools } from '../../../examples/angular-chat/server/tools.js';

const tools = chatTools();

describe('tools', () => {
  it('tools have definitions that a model accepts', () => {
    expect(tools.map(toolDefinition)).toMatchObject([
      { name: 'count_primes', parameters: { type: 'object', required: ['below'] } },
      { name: 'save_note', parameters: { type: 'object', required: ['note'] } },
      { name: 'local_time', parameters: { type: 'object' } },
      { name: 'choose_colour', parameters: { type: 'object', required: ['colours'] } },
      { name: 'register_visitor', parameters: { type: 'object' } },
    ]);
  });

  it('save_note waits for an approval, and the page answers the calls of local_time and choose_colour', () => {
    expect(tools.filter(({ needsApproval }) => needsApproval).map(({ name }) => name)).toEqual(['save_note']);
    expect(tools.filter((tool) => !('execute' in tool)).map(({ name }) => name)).toEqual([
      'local_time',
      'choose_colour',
    ]);
  });

  it.each([
    [2, 0],
    [100, 25],
    [100_000, 9592],
  ])('count_primes finds the primes below %i, and reports its progress', async (below, count) => {
    const call = { type: 'toolCall', id: '1', name: 'count_primes', arguments: { below } } as const;
    const turn = from([
      { type: 'message', message: { role: 'model', parts: [call] } } as const,
      { type: 'finish', reason: 'toolCalls' } as const,
    ]);
    const events = await firstValueFrom(turn.pipe(executeTools(tools), toArray()));
    const percents = events.flatMap((event) =>
      event.type === 'toolProgress' ? (event.value as { readonly percent: number }).percent : [],
    );
    expect(percents).toHaveLength(199);
    expect(percents).toEqual([...percents].sort((a, b) => a - b));
    expect(events.filter((event) => event.type === 'toolResult')).toMatchObject([{ result: count }]);
  });
});
