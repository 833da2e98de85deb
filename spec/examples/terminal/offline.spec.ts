import { describe, expect, it } from '@jest/globals';
import { modelMessage, userMessage } from 'rivulet';
import type { JsonObject, JsonValue, Message } from 'rivulet';
import type { Step } from 'rivulet/testing';
import { answerByRules } from '../../../examples/terminal/offline.js';
import { parseQuestion } from '../../../examples/terminal/question.js';

/** A call and its result, as messages. */
const called = (
  id: string,
  name: string,
  args: JsonObject,
  outcome: { readonly result: JsonValue } | { readonly error: string },
): readonly Message[] => [
  modelMessage([{ type: 'toolCall', id, name, arguments: args }]),
  userMessage([{ type: 'toolResult', id, name, ...outcome }]),
];

/** The stand-in's answer: its text, and its calls. */
function answerTo(...history: readonly Message[]): { text: string; calls: unknown[] } {
  const steps: readonly Step[] = answerByRules({ history });
  const chunks = steps.flatMap((step) => (typeof step === 'object' && 'type' in step ? [step] : []));
  return {
    text: chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''),
    calls: chunks.flatMap((chunk) => (chunk.type === 'toolCallFragment' ? [[chunk.name, chunk.arguments]] : [])),
  };
}

describe('answerByRules', () => {
  const question = userMessage('How much warmer is Rome than Oslo, and what does notes.md say about two cities?');
  const rome = called(
    '1',
    'weather',
    { city: 'Rome' },
    { result: { city: 'Rome', celsius: 31, sky: 'clear', wind: 1 } },
  );
  const oslo = called(
    '2',
    'weather',
    { city: 'Oslo' },
    { result: { city: 'Oslo', celsius: -40, sky: 'dark', wind: 2 } },
  );
  const sum = called('3', 'calculate', { expression: '31 - (-40)' }, { result: 71 });
  const file = called(
    '4',
    'read_file',
    { path: 'notes.md' },
    { result: '# Notes\n- One thing that does not matter.\n- Two cities say a lot about notes.\n' },
  );

  it('answerByRules takes the next missing step from the request, and answers with the results of the tools', () => {
    expect(answerTo(question).calls).toEqual([
      ['weather', { city: 'Rome' }],
      ['weather', { city: 'Oslo' }],
    ]);
    expect(answerTo(question, ...rome, ...oslo).calls).toEqual([['calculate', { expression: '31 - (-40)' }]]);
    expect(answerTo(question, ...rome, ...oslo, ...sum).calls).toEqual([['read_file', { path: 'notes.md' }]]);
    expect(answerTo(question, ...rome, ...oslo, ...sum, ...file)).toEqual({
      text:
        'In Rome it is 31 °C, clear, with a wind of 1 km/h. In Oslo it is -40 °C, dark, with a wind of 2 km/h. ' +
        'Rome is 71 degrees warmer than Oslo. notes.md says: "Two cities say a lot about notes."',
      calls: [],
    });
  });

  it('answerByRules answers only the latest question, also if it shares a message with a stopped one', () => {
    const earlier = [question, ...rome, modelMessage('Done.')];
    expect(answerTo(...earlier, userMessage('And 2 * 3?')).calls).toEqual([['calculate', { expression: '2 * 3' }]]);
    const both = userMessage([
      { type: 'text', text: 'What is 1 + 1?' },
      { type: 'text', text: 'And 2 * 3?' },
    ]);
    expect(answerTo(both).calls).toEqual([['calculate', { expression: '2 * 3' }]]);
  });

  it('answerByRules reports the error of a tool', () => {
    expect(
      answerTo(
        userMessage('Read x.txt'),
        ...called('1', 'read_file', { path: 'x.txt' }, { error: 'There is no file.' }),
      ),
    ).toEqual({
      text: 'I could not get "x.txt" from read_file. There is no file.',
      calls: [],
    });
  });

  it('answerByRules introduces itself when no rule applies', () => {
    expect(answerTo(userMessage('Tell me a joke.')).text).toMatch(/^I am a scripted stand-in .* --help/);
    expect(answerTo().text).toMatch(/^I am a scripted stand-in/);
  });
});

describe('parseQuestion', () => {
  it.each([
    ['how warm is it in new york?', { cities: ['New York'] }],
    ['Lisbon or Berlin?', { cities: ['Lisbon', 'Berlin'] }],
    ['What is the weather in Atlantis?', { cities: ['Atlantis'] }],
    ['Compare Cairo and Tokyo', { cities: ['Cairo', 'Tokyo'], isComparison: true }],
    ['What is sqrt(2) * (3 + 4.5)?', { expression: 'sqrt(2) * (3 + 4.5)' }],
    ['2+2, please', { expression: '2+2' }],
    ['What is -3 * 4?', { expression: '-3 * 4' }],
    ['Read README.md!', { file: 'README.md' }],
    ['What is in "examples/terminal/notes.md"?', { file: 'examples/terminal/notes.md' }],
    ['Show me ../secret/key', { file: '../secret/key' }],
    ['cat /etc/passwd', { file: '/etc/passwd' }],
    ['I was born in 1990 and have 3.14 cats.', {}],
    ['Hello there', {}],
  ])('parseQuestion finds in "%s" what a tool can answer', (question, found) => {
    expect(parseQuestion(question)).toEqual({ cities: [], isComparison: false, ...found });
  });
});
