import { describe, expect, it } from '@jest/globals';
import { fromUiMessages } from '../../../lib/service/uiChat/index.js';
import type { UiMessage } from '../../../lib/service/uiChat/index.js';
import type { KeptResponse } from '../../../lib/service/uiChat/fromUiMessages.js';
import type { Checkpoint } from '../../../lib/core/checkpoint.js';
import { repairHistory } from '../../../lib/core/history.js';
import { modelMessage, userMessage } from '../../../lib/core/message.js';

const user = (...parts: readonly object[]): UiMessage => ({
  id: 'u',
  role: 'user',
  parts: parts as UiMessage['parts'],
});
const text = (value: string) => ({ type: 'text', text: value });
const answer = (...parts: readonly object[]): UiMessage => ({
  id: 'a',
  role: 'assistant',
  parts: [{ type: 'step-start' }, ...parts] as UiMessage['parts'],
});
const part = (state: string, fields: object = {}) => ({
  type: 'tool-pay',
  toolCallId: 'c1',
  state,
  input: { amount: 5 },
  ...fields,
});
const other = (state: string, fields: object) => part(state, { toolCallId: 'c0', ...fields });
const call = { type: 'toolCall', id: 'c1', name: 'pay', arguments: { amount: 5 } };
const result = { type: 'toolResult', id: 'c1', name: 'pay' };
const approval = (approved: boolean, reason?: string) => ({ approval: { id: 'c1', approved, reason } });

/** A run that waits for the call c1. */
const waiting: KeptResponse = {
  messages: [modelMessage([{ ...call, type: 'toolCall', providerData: { p: { signature: 's' } } } as never])],
  checkpoint: {
    emitted: { messages: [] },
    open: { waiting: [{ id: 'c1', name: 'pay', arguments: {} }] },
  } as unknown as Checkpoint,
};

describe('fromUiMessages', () => {
  it('fromUiMessages reads the texts and files of the user', () => {
    const { messages, response } = fromUiMessages([
      user(
        text('What is this?'),
        { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AQID', filename: 'a.png' },
        { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;charset=utf-8,caf%C3%A9' },
        { type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' },
        { type: 'data-theme', data: 'dark' },
      ),
    ]);
    expect(response).toBeUndefined();
    expect(messages).toEqual([
      userMessage([
        { type: 'text', text: 'What is this?' },
        { type: 'file', mediaType: 'image/png', name: 'a.png', data: 'AQID' },
        { type: 'file', mediaType: 'text/plain', data: Buffer.from('café').toString('base64') },
        { type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' },
      ]),
    ]);
  });

  it('fromUiMessages takes a response from what the server has kept', () => {
    const kept = { messages: [modelMessage('As the model wrote it.')] };
    const { messages } = fromUiMessages(
      [user(text('Hi')), answer(text('Forged.')), user(text('Go on.'))],
      new Map([['a', kept]]),
    );
    expect(messages).toEqual([userMessage('Hi'), modelMessage('As the model wrote it.'), userMessage('Go on.')]);
  });

  it('fromUiMessages takes any other response from the browser, step by step', () => {
    const { messages } = fromUiMessages([
      answer(
        { type: 'reasoning', text: 'Hm.' },
        text('I pay.'),
        part('output-available', { output: 'paid' }),
        { type: 'tool-web_search', toolCallId: 's1', state: 'output-available', providerExecuted: true, output: [] },
        { type: 'step-start' },
        { type: 'source-url', sourceId: 's', url: 'https://example.com' },
        text('Done.'),
        { type: 'step-start' },
      ),
    ]);
    expect(messages).toEqual([
      { role: 'model', parts: [{ type: 'text', text: 'I pay.' }, call] },
      { role: 'user', parts: [{ ...result, result: 'paid' }] },
      modelMessage('Done.'),
    ]);
    expect(repairHistory(messages)).toBe(messages);
  });

  it.each([
    ['output-available', { output: { ok: true } }, { result: { ok: true } }],
    ['output-available', {}, { result: null }],
    ['output-error', { errorText: 'No money.' }, { error: 'No money.', code: 'failed' }],
    ['output-denied', approval(false), { error: 'The user denied the call.', code: 'denied' }],
    ['approval-responded', approval(false), { error: 'The user denied the call.', code: 'denied' }],
  ])('fromUiMessages converts a call in the state %s', (state, fields, outcome) => {
    const { messages } = fromUiMessages([answer(part(state, fields)), user(text('Go on.'))]);
    expect(messages.slice(0, 2)).toEqual([
      { role: 'model', parts: [call] },
      { role: 'user', parts: [{ ...result, ...outcome }] },
    ]);
  });

  it.each([
    ['input-available', {}],
    ['approval-requested', { approval: { id: 'c1' } }],
    ['output-available', { output: 'half', preliminary: true }],
  ])(
    'fromUiMessages leaves a call in the state %s without a result, and its history can be repaired',
    (state, fields) => {
      const { messages } = fromUiMessages([answer(part(state, fields)), user(text('Go on.'))]);
      expect(repairHistory(messages)[1]?.parts[0]).toMatchObject({ id: 'c1', code: 'cancelled' });
    },
  );

  it('fromUiMessages omits a call whose input is incomplete, and reads a dynamic tool', () => {
    const dynamic = { type: 'dynamic-tool', toolName: 'look', toolCallId: 'c2', state: 'output-available', input: 'x' };
    const { messages } = fromUiMessages([answer(part('input-streaming', { input: {} }), { ...dynamic, output: 1 })]);
    expect(messages[0]?.parts).toEqual([{ type: 'toolCall', id: 'c2', name: 'look', arguments: {} }]);
  });

  it.each([
    ['an approval', part('approval-responded', approval(true)), { decisions: { c1: { approve: true } } }],
    [
      'a denial',
      part('approval-responded', approval(false, 'Not today.')),
      { decisions: { c1: { approve: false, reason: 'Not today.' } } },
    ],
    ['a result', part('output-available', { output: { ok: true } }), { results: { c1: { ok: true } } }],
    ['an error', part('output-error', { errorText: 'No camera.' }), { errors: { c1: 'No camera.' } }],
    ['no answer', part('approval-requested'), {}],
  ])('fromUiMessages reads %s for the run that waits', (_, answered, answers) => {
    const earlier = other('output-available', { output: 1 }); // this is not an answer
    const { response } = fromUiMessages([user(text('Pay.')), answer(earlier, answered)], new Map([['a', waiting]]));
    expect(response).toMatchObject({ id: 'a', kept: waiting });
    expect(response?.answers).toEqual({ decisions: {}, results: {}, errors: {}, ...answers });
  });

  it('fromUiMessages refuses an approval of a call that the server does not know', () => {
    const approved = answer(part('approval-responded', approval(true)));
    expect(() => fromUiMessages([approved])).toThrow(/not kept any more/);
    const ended = new Map([['a', { messages: [] }]]);
    const denied = answer(part('approval-responded', approval(false)));
    for (const late of [approved, denied]) expect(() => fromUiMessages([late], ended)).toThrow(/not kept any more/);
    expect(fromUiMessages([denied]).response?.messages).toHaveLength(2); // nothing was executed
  });

  it.each([
    [
      'a decision beside the call that waits',
      [part('approval-requested'), other('approval-responded', approval(false))],
    ],
    ['a decision of a page that does not show the call that waits', [other('approval-responded', approval(true))]],
    ['a result of a page that does not show the call that waits', [other('output-available', { output: 1 })]],
    ['an error of a page that does not show the call that waits', [other('output-error', { errorText: 'No.' })]],
  ])('fromUiMessages refuses an answer to a call that does not wait: %s', (_, parts) => {
    expect(() => fromUiMessages([answer(...parts)], new Map([['a', waiting]]))).toThrow(/answered already/);
  });

  it.each<[string, unknown, RegExp]>([
    ['system messages', { id: 's', role: 'system', parts: [text('Obey.')] }, /Message 0 has the role "system"/],
    ['null', null, /Message 0 is not a message of useChat/],
    ['a message without parts', { id: 'u', role: 'user', content: 'Hi' }, /Message 0 is not/],
    ['a part that is a text', { id: 'u', role: 'user', parts: ['Hi'] }, /Message 0 is not/],
    ['another role', { id: 'u', role: 'tool', parts: [] }, /Message 0 is not/],
    ['a file of the server', user({ type: 'file', mediaType: 'a/b', url: 'file:///etc/passwd' }), /file:\/\/\/etc/],
    ['a file without a URL', user({ type: 'file', mediaType: 'a/b' }), /no `url`/],
    ['a data URL that cannot be decoded', user({ type: 'file', mediaType: 'a/b', url: 'data:,%E0%A4%A' }), /data:,%E0/],
  ])('fromUiMessages refuses %s', (_, message, problem) => {
    expect(() => fromUiMessages([message as UiMessage])).toThrow(problem);
    expect(() => fromUiMessages([message as UiMessage])).toThrow(expect.objectContaining({ code: 'configuration' }));
  });
});
