import { describe, expect, it } from '@jest/globals';
import type { StreamEvent } from '../../lib/core/event.js';
import * as guards from '../../lib/core/eventGuards.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { ToolResultPart } from '../../lib/core/message.js';

const { asKnownEvent, ...predicates } = guards;
const answer: ToolResultPart = { type: 'toolResult', id: 'c1', name: 'f', result: 1 };

const examples: readonly (readonly [name: keyof typeof predicates, event: StreamEvent, others: readonly string[]])[] = [
  ['isText', { type: 'text' }, []],
  ['isThinking', { type: 'thinking' }, []],
  ['isToolCallFragment', { type: 'toolCallFragment' }, []],
  ['isFile', { type: 'file' }, []],
  ['isProviderPart', { type: 'provider' }, []],
  ['isRetract', { type: 'retract' }, []],
  ['isFinish', { type: 'finish' }, []],
  ['isToolCall', { type: 'toolCall' }, []],
  ['isToolWaiting', { type: 'toolWaiting' }, []],
  ['isToolStart', { type: 'toolStart' }, []],
  ['isToolProgress', { type: 'toolProgress' }, []],
  ['isToolUsage', { type: 'toolUsage' }, []],
  ['isNested', { type: 'nested' }, []],
  ['isToolResult', answer, []],
  ['isMessage', { type: 'message', message: userMessage('Hi') } as StreamEvent, []],
  ['isModelMessage', { type: 'message', message: modelMessage('Hi') } as StreamEvent, ['isMessage']],
  ['isOpenCalls', { type: 'openCalls' }, []],
  ['isCheckpoint', { type: 'checkpoint' }, []],
  ['isTurn', { type: 'turn' }, []],
  ['isResult', { type: 'result' }, []],
];

describe('the guards of events', () => {
  it.each(examples)('%s accepts only its own events', (name, event, others) => {
    const accepting = Object.entries(predicates)
      .filter(([, accepts]) => accepts(event))
      .map(([guard]) => guard);
    expect(accepting.sort()).toEqual([name, ...others].sort());
  });

  it('cover every predicate of the module, and reject events of other vocabularies', () => {
    expect(examples.map(([name]) => name).sort()).toEqual(Object.keys(predicates).sort());
    for (const accepts of Object.values(predicates)) expect(accepts({ type: 'myOwn' })).toBe(false);
  });

  it('narrow an event to its type', () => {
    const event: StreamEvent = { type: 'text', text: 'Hi' } as StreamEvent;
    expect(guards.isText(event) && event.text.length).toBe(2);
  });

  it('asKnownEvent returns the event itself, typed for a switch', () => {
    const event: StreamEvent = { type: 'text', text: 'Hi' } as StreamEvent;
    const known = asKnownEvent(event);
    expect(known).toBe(event);
    expect(known.type === 'text' && known.text.length).toBe(2);
  });
});
