import { describe, expect, it } from '@jest/globals';
import { from, of } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { RunEvent, StreamEvent } from '../../lib/core/event.js';
import { userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { toText } from '../../lib/operators/toText.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { composedContract } from '../support/composedContract.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { exampleEvents } from '../support/runs.js';

const delta = (value: string): RunEvent => ({ type: 'text', text: value });
const turn: RunEvent = { type: 'turn', turn: 1, finishReason: 'toolCalls' };
const retract: RunEvent = { type: 'retract' };

const textsOf = (events: readonly StreamEvent[]) => observe(from(events).pipe(toText())).values;

describe('toText', () => {
  it('toText emits the text so far', () => diagram('toText', ({ source }) => source.pipe(toText())));

  it.each(composedContract(toText(), { source: [delta('a'), delta('b'), turn], passThrough: false }))(
    'toText $title',
    ({ run }) => run(),
  );

  it('toText emits nothing for events that do not change it', () => {
    const thinking: RunEvent = { type: 'thinking', text: 'hm' };
    expect(textsOf([thinking, delta(''), turn, retract, { type: 'unknown' }])).toEqual([]);
    expect(textsOf([delta('a'), thinking, delta(''), turn, retract, retract])).toEqual(['a']);
  });

  it('toText takes back the turn that a retract voids, and no earlier one', () => {
    expect(textsOf([delta('void'), retract, delta('a'), turn, delta('b'), retract, delta('c')])).toEqual([
      'void',
      '',
      'a',
      'ab',
      'a',
      'ac',
    ]);
  });

  it('toText ends with the text of the result: after tools, a retract and a prompt', () => {
    const events = exampleEvents();
    const result = events.find((event) => event.type === 'result') as Extract<RunEvent, { type: 'result' }>;
    expect(result.result.text).not.toBe('');
    expect(textsOf(events).at(-1)).toBe(result.result.text);

    const clock = tool({ name: 'clock', description: 'The time.', execute: () => 12 });
    const agent = createAgent({ model: scriptedModel([['Wait.', toolCall('clock')], 'Noon.']), tools: [clock] });
    const prompted = observe(agent.stream('Time?', { prompts: of(userMessage('Please.')) })).values;
    const last = prompted.at(-1);
    expect(textsOf(prompted).at(-1)).toBe(last?.type === 'result' && last.result.text);
  });
});
