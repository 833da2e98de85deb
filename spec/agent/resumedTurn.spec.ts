import { describe, expect, it } from '@jest/globals';
import { defer, firstValueFrom } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { CallAnswers, WaitingCall } from '../../lib/core/approval.js';
import type { Checkpoint, OpenCalls } from '../../lib/core/checkpoint.js';
import { modelMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { resumedTurn } from '../../lib/agent/resumedTurn.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { observe } from '../support/observe.js';
import { callOf } from '../support/toolCalls.js';

const pay = tool({ name: 'pay', description: '', needsApproval: true, execute: () => 'paid' });
const locate = tool({ name: 'locate', description: '', result: z.object({ latitude: z.number().default(90) }) });
const ask = tool({ name: 'ask', description: '' });
const tools: readonly Tool[] = [pay, locate, ask];

const waiting: readonly WaitingCall[] = [
  { id: 'p', name: 'pay', arguments: {} },
  { id: 'b', name: 'locate', arguments: {} },
];
const open: OpenCalls = {
  messages: [modelMessage([callOf('pay', {}, 'p'), callOf('locate', {}, 'b')])],
  finish: { reason: 'toolCalls' },
  results: [],
  waiting,
};

/** The turn that these answers resume. */
const resumed = (answers: CallAnswers, of: OpenCalls = open, having = tools) =>
  observe(resumedTurn(of, answers, having));

describe('resumedTurn', () => {
  it('resumedTurn emits nothing to resume for a checkpoint without open calls', () => {
    const { values, completed } = observe(resumedTurn(undefined, {}, tools));
    expect([values, completed]).toEqual([[undefined], true]);
  });

  it('resumedTurn emits the open calls with no answers if there are none', () => {
    const none = new Map();
    expect(resumed({}).values).toEqual([{ open, decisions: none, results: none, errors: none, nested: none }]);
  });

  it('resumedTurn emits the answers by the ids of the calls, the results as their schemas return them', () => {
    const answers = { decisions: { p: { approve: true } }, results: { b: {} } } as const;
    expect(resumed(answers).values).toEqual([
      {
        open,
        decisions: new Map([['p', { approve: true }]]),
        results: new Map([['b', { latitude: 90 }]]),
        errors: new Map(),
        nested: new Map(),
      },
    ]);
    expect(resumed({ errors: { b: 'No signal.' } }).values).toMatchObject([{ errors: new Map([['b', 'No signal.']]) }]);
  });

  it('resumedTurn waits for a schema that validates asynchronously', async () => {
    const late = tool({ name: 'locate', description: '', result: z.number().refine(async (n) => n > 0, 'too small') });
    const turn = await firstValueFrom(resumedTurn(open, { results: { b: 7 } }, [late]));
    expect(turn?.results).toEqual(new Map([['b', 7]]));
    await expect(firstValueFrom(resumedTurn(open, { results: { b: -7 } }, [late]))).rejects.toThrow('too small');
  });

  it('resumedTurn copies the result of a tool without a schema', () => {
    const result = { at: [1] };
    const [turn] = resumed({ results: { b: result } }, open, [pay, tool({ name: 'locate', description: '' })]).values;
    result.at.push(2);
    expect(turn?.results.get('b')).toEqual({ at: [1] });
  });

  it('resumedTurn accepts an approval of a tool without execute together with its result or its error', () => {
    const decisions = { b: { approve: true } } as const;
    expect(resumed({ decisions, results: { b: { latitude: 1 } } }).error).toBeUndefined();
    expect(resumed({ decisions: { b: { approve: false } } }).error).toBeUndefined();
  });

  it('resumedTurn accepts answers for a call whose tool is gone', () => {
    expect(resumed({ decisions: { p: { approve: true } }, results: { b: 1 } }, open, []).values).toMatchObject([
      { decisions: new Map([['p', { approve: true }]]), results: new Map([['b', 1]]) },
    ]);
  });

  it.each<[string, CallAnswers, string, string]>([
    [
      'an answer to a call that does not wait',
      { decisions: { x: { approve: true } } },
      'decisions',
      'No call with the id "x" waits. These calls wait: "p" (pay), "b" (locate).',
    ],
    [
      'a result of a call that does not wait',
      { results: { x: 1 } },
      'results',
      'No call with the id "x" waits. These calls wait: "p" (pay), "b" (locate).',
    ],
    [
      'an error of a call that does not wait',
      { errors: { x: 'No.' } },
      'errors',
      'No call with the id "x" waits. These calls wait: "p" (pay), "b" (locate).',
    ],
    [
      'a value that is not a decision',
      { decisions: { p: 'yes' as never } },
      'decisions',
      'The value for the call "p" is not a decision. ' +
        'Pass { approve: true }, { approve: true, arguments } or { approve: false, reason }.',
    ],
    [
      'a denial with a result',
      { decisions: { b: { approve: false } }, results: { b: { latitude: 1 } } },
      'decisions',
      'The call "b" is denied, and has a result. Pass either the decision or the result.',
    ],
    [
      'an approval of a tool without execute',
      { decisions: { b: { approve: true } } },
      'decisions',
      'The call "b" is approved, but the tool "locate" has no `execute`. ' +
        'Execute the call yourself, and pass its result: results: { [id]: value }.',
    ],
    [
      'an error that is not a text',
      { errors: { b: 1 as never } },
      'errors',
      'The error for the call "b" is not a text, or the call has another answer too. ' +
        'Pass the error, the result or the decision of a call.',
    ],
    [
      'an error with a result',
      { errors: { b: 'No.' }, results: { b: { latitude: 1 } } },
      'errors',
      'The error for the call "b" is not a text, or the call has another answer too. ' +
        'Pass the error, the result or the decision of a call.',
    ],
    [
      'an error with a decision',
      { errors: { b: 'No.' }, decisions: { b: { approve: true } } },
      'errors',
      'The error for the call "b" is not a text, or the call has another answer too. ' +
        'Pass the error, the result or the decision of a call.',
    ],
    [
      'a result of a tool with execute',
      { results: { p: 1 } },
      'results',
      'The results have the call "p", but the tool "pay" has `execute`. ' +
        'Pass a decision for this call. Results and errors are for tools without `execute`.',
    ],
    [
      'an error of a tool with execute',
      { errors: { p: 'No.' } },
      'errors',
      'The errors have the call "p", but the tool "pay" has `execute`. ' +
        'Pass a decision for this call. Results and errors are for tools without `execute`.',
    ],
    [
      'a result that does not match its schema',
      { results: { b: { latitude: 'north' } } },
      'results',
      'The result of the tool "locate" does not match its schema: ' +
        'latitude: Invalid input: expected number, received string. ' +
        'Pass a valid result. The checkpoint can be resumed again.',
    ],
  ])('resumedTurn rejects %s', (_, answers, subject, message) => {
    const { values, error } = observe(defer(() => resumedTurn(open, answers, tools)));
    expect(values).toEqual([]);
    expect(error).toMatchObject({ code: 'configuration', subject, message });
  });

  it('resumedTurn says that no call waits', () => {
    const fail = () => resumedTurn({ ...open, waiting: [] }, { errors: { p: 'No.' } }, tools);
    expect(fail).toThrow('No call with the id "p" waits. These calls wait: none.');
  });
});

describe('resumedTurn with inner runs', () => {
  const inner = createAgent({ model: scriptedModel([]), tools });
  const helper = agentTool(inner, { name: 'helper', description: '' });
  const checkpoint: Checkpoint = {
    version: 1,
    orchestrator: 'toolLoop',
    state: { messages: [], turn: 0, usage: {} },
    emitted: { text: '', thinking: '', messages: [], needsSeparator: false },
    open,
  };
  const call = (id: string, path: readonly string[]): WaitingCall => ({ id, name: 'pay', arguments: {}, path });
  const nested: OpenCalls = {
    messages: [modelMessage([callOf('ask', {}, 'q'), callOf('helper', {}, 'h'), callOf('helper', {}, 'i')])],
    finish: { reason: 'toolCalls' },
    results: [],
    waiting: [
      { id: 'q', name: 'ask', arguments: {} },
      call('h/p', ['h', 'p']),
      call('h/b', ['h', 'b']),
      call('i/p', ['i', 'p']),
      call('h/b/c', ['h', 'b', 'c']),
    ],
    nested: { h: checkpoint, i: checkpoint },
  };
  const all = [ask, helper];

  it('resumedTurn gives each inner run the answers to its own calls, by their inner ids', () => {
    const answers = {
      decisions: { 'h/p': { approve: true } },
      results: { q: 'Yes.', 'h/b': { latitude: 1 } },
    } as const;
    const none = { decisions: {}, results: {}, errors: {} };
    expect(resumed(answers, nested, all).values).toEqual([
      {
        open: nested,
        decisions: new Map(),
        results: new Map([['q', 'Yes.']]),
        errors: new Map(),
        nested: new Map([
          [
            'h',
            {
              checkpoint,
              answers: { ...none, decisions: { p: { approve: true } }, results: { b: { latitude: 1 } } },
            },
          ],
          ['i', { checkpoint, answers: none }],
        ]),
      },
    ]);
  });

  it.each<[string, CallAnswers, string]>([
    ['are not valid', { decisions: { 'h/p': 1 as never } }, 'The value for the call "h/p" is not a decision.'],
    ['belong to none of its waiting calls', { errors: { 'h/b/c': 'No.' } }, 'No call with the id "b/c" waits.'],
  ])('resumedTurn rejects answers to an inner run that %s', (_, answers, message) => {
    expect(() => resumedTurn(nested, answers, all)).toThrow(message);
  });

  it('resumedTurn rejects the checkpoint of an inner run that its agent cannot resume', () => {
    const foreign = { ...nested, nested: { h: { ...checkpoint, orchestrator: 'twoPhase' } } };
    expect(() => resumedTurn(foreign, {}, all)).toThrow('twoPhase');
  });

  it.each<[string, readonly Tool[]]>([
    ['is gone', [ask]],
    ['runs no agent', [ask, tool({ name: 'helper', description: '', execute: () => 1 })]],
  ])('resumedTurn does not check the inner run of a call whose tool %s', (_, having) => {
    const answers = { results: { 'h/p': 1 } }; // `pay` executes itself
    const foreign = { ...nested, nested: { h: { ...checkpoint, orchestrator: 'twoPhase' } } };
    expect(resumed(answers, foreign, having).values[0]?.nested.get('h')?.answers.results).toEqual({ p: 1 });
  });

  it('resumedTurn does not check an inner run whose call is in no message', () => {
    const unknown = { ...nested, nested: { x: { ...checkpoint, orchestrator: 'twoPhase' } } };
    expect([...(resumed({}, unknown, all).values[0]?.nested.keys() ?? [])]).toEqual(['x']);
  });

  it('resumedTurn reports an inner run that waits to its agent, and resumes it there', async () => {
    const asking = createAgent({
      model: scriptedModel(({ messages }) => (messages.length < 2 ? [toolCall('pay', {}, 'p')] : 'Paid.')),
      tools: [pay],
    });
    const outer = createAgent({
      model: scriptedModel(({ messages }) =>
        messages.length < 2 ? [toolCall('helper', { prompt: 'Pay' }, 'h')] : 'Done.',
      ),
      tools: [agentTool(asking, { name: 'helper', description: '' })],
    });
    const [first] = observe(outer.run('Hi')).values;
    if (!first?.checkpoint) throw new Error('The run does not wait.');
    expect(first.waiting).toMatchObject([{ id: 'h/p', path: ['h', 'p'] }]);
    const resumedRun = outer.resumeRun(first.checkpoint, { decisions: { 'h/p': { approve: true } } });
    expect(observe(resumedRun).values).toMatchObject([{ text: 'Done.', finishReason: 'stop' }]);
  });
});
