import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, toArray } from 'rxjs';
import { accumulateToolCalls, createAgent, partialArguments, tool, toView } from 'rivulet';
import type { Chunk, RunEvent, StreamEvent, View } from 'rivulet';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { fromAgUi } from '../../../lib/chat/agUi/fromAgUi.js';
import { toAgUi } from '../../../lib/service/agUi/toAgUi.js';
import { toUiMessageStream } from '../../../lib/service/uiChat/index.js';
import { readUiMessage } from '../../service/uiChat/readUiMessage.js';
import { acme, endOf, finish, question, season, signed } from './acme.js';

type Part = LanguageModelV4StreamPart;

const input = (id: string, name: string): Part => ({ type: 'tool-input-start', id, toolName: name });
const delta = (id: string, text: string): Part => ({ type: 'tool-input-delta', id, delta: text });
const streamed = (id: string, name: string, ...texts: string[]): Part[] => [
  input(id, name),
  ...texts.map((text) => delta(id, text)),
  { type: 'tool-input-end', id },
];
const call = (id: string, name: string, text: string, fields: object = {}): Part => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: name,
  input: text,
  ...fields,
});
const result = (id: string): Part => ({ type: 'tool-result', toolCallId: id, toolName: 'pay', result: { ok: true } });
const byProvider = { providerExecuted: true };
const thousand = streamed('a', 'pay', '{"euros":', '1000}');

interface Row {
  readonly parts: readonly Part[];
  /** The calls that run, in order: what the AI SDK executes. */
  readonly runs: readonly (readonly [name: string, args: object])[];
  readonly ids: readonly string[];
}

const rows: Readonly<Record<string, Row>> = {
  'the input as it was streamed': {
    parts: [...thousand, call('a', 'pay', '{"euros":1000}')],
    runs: [['pay', { euros: 1000 }]],
    ids: ['a'],
  },
  'a corrected input': {
    parts: [...thousand, call('a', 'pay', '{"euros":10}')],
    runs: [['pay', { euros: 10 }]],
    ids: ['a'],
  },
  'a name that was changed': {
    parts: [...thousand, call('a', 'draft', '{"euros":1000}')],
    runs: [['draft', { euros: 1000 }]],
    ids: ['a'],
  },
  'an id that was changed': {
    parts: [...thousand, call('b', 'pay', '{"euros":1000}')],
    runs: [['pay', { euros: 1000 }]],
    ids: ['b'],
  },
  'no call: it was removed': { parts: thousand, runs: [], ids: [] },
  'no call, before another one': {
    parts: [...thousand, ...streamed('b', 'draft', '{"n":1}'), call('b', 'draft', '{"n":1}')],
    runs: [['draft', { n: 1 }]],
    ids: ['b'],
  },
  'no call of an input without deltas': { parts: [input('a', 'pay')], runs: [], ids: [] },
  'two calls of one input': {
    parts: [...thousand, call('a1', 'pay', '{"euros":500}'), call('a2', 'pay', '{"euros":499}')],
    runs: [
      ['pay', { euros: 500 }],
      ['pay', { euros: 499 }],
    ],
    ids: ['a1', 'a2'],
  },
  'two calls of one input, one with its id': {
    parts: [...thousand, call('a', 'pay', '{"euros":500}'), call('a2', 'pay', '{"euros":499}')],
    runs: [
      ['pay', { euros: 500 }],
      ['pay', { euros: 499 }],
    ],
    ids: ['a', 'a2'],
  },
  'a call that the provider runs': {
    parts: [...thousand, call('a', 'pay', '{"euros":1000}', byProvider), result('a')],
    runs: [],
    ids: [],
  },
  'a dynamic call that the provider runs': {
    parts: [...thousand, call('a', 'pay', '{"euros":1000}', { ...byProvider, dynamic: true }), result('a')],
    runs: [],
    ids: [],
  },
  'a dynamic call of the client': {
    parts: [...thousand, call('a', 'pay', '{"euros":10}', { dynamic: true })],
    runs: [['pay', { euros: 10 }]],
    ids: ['a'],
  },
  'an input streamed in part, then formatted otherwise': {
    parts: [...streamed('a', 'pay', '{"euros":1000'), call('a', 'pay', '{ "euros": 1000 }')],
    runs: [['pay', { euros: 1000 }]],
    ids: ['a'],
  },
  'an input that had more than the call': {
    parts: [...streamed('a', 'pay', '{"euros":1}', '{"euros":2}'), call('a', 'pay', '{"euros":1}')],
    runs: [['pay', { euros: 1 }]],
    ids: ['a'],
  },
  'an input that the call empties': {
    parts: [...thousand, call('a', 'pay', '{}')],
    runs: [['pay', {}]],
    ids: ['a'],
  },
  'a call before its input': {
    parts: [call('a', 'pay', '{"euros":10}'), ...thousand],
    runs: [['pay', { euros: 10 }]],
    ids: ['a'],
  },
  'a call inside its input': {
    parts: [input('a', 'pay'), delta('a', '{"euros":9'), call('a', 'pay', '{"euros":10}'), delta('a', '99}')],
    runs: [['pay', { euros: 10 }]],
    ids: ['a'],
  },
  'a call without input parts': {
    parts: [call('a', 'pay', '{"euros":10}')],
    runs: [['pay', { euros: 10 }]],
    ids: ['a'],
  },
  'two inputs, interleaved, and their calls in another order': {
    parts: [
      input('a', 'pay'),
      input('b', 'draft'),
      delta('a', '{"euros"'),
      delta('b', '{"n"'),
      delta('a', ':1000}'),
      delta('b', ':1}'),
      call('b', 'draft', '{"n":2}'),
      call('a', 'pay', '{"euros":10}'),
    ],
    runs: [
      ['draft', { n: 2 }],
      ['pay', { euros: 10 }],
    ],
    ids: ['b', 'a'],
  },
  'one id twice': {
    parts: [
      ...thousand,
      call('a', 'pay', '{"euros":10}'),
      ...streamed('a', 'pay', '{"euros":2000}'),
      call('a', 'pay', '{"euros":20}'),
    ],
    runs: [
      ['pay', { euros: 10 }],
      ['pay', { euros: 20 }],
    ],
    ids: ['a', 'new'],
  },
  'one id twice, streamed before both calls': {
    parts: [
      ...thousand,
      ...streamed('a', 'pay', '{"euros":2000}'),
      call('a', 'pay', '{"euros":10}'),
      call('a', 'pay', '{"euros":20}'),
    ],
    runs: [
      ['pay', { euros: 10 }],
      ['pay', { euros: 20 }],
    ],
    ids: ['a', 'new'],
  },
  'one call twice': {
    parts: [...thousand, call('a', 'pay', '{"euros":10}'), ...thousand, call('a', 'pay', '{"euros":10}')],
    runs: [['pay', { euros: 10 }]],
    ids: ['a'],
  },
};

/** Runs an agent whose model sends these parts, and then an answer. */
async function run(parts: readonly Part[], eagerTools: boolean) {
  const ran: [string, object][] = [];
  const tools = ['pay', 'draft'].map((name) =>
    tool({
      name,
      description: 'Acts.',
      parameters: { type: 'object' },
      execute: (args) => {
        ran.push([name, args]);
        return 'done';
      },
    }),
  );
  const turns = [
    acme([...parts, finish('tool-calls')]),
    acme([{ type: 'text-delta', id: 't', delta: 'End.' }, finish()]),
  ];
  const left = turns[Symbol.iterator]();
  const model = fromAiSdk({ ...turns[0]!.sdk, doStream: (options) => left.next().value!.sdk.doStream(options) });
  const agent = createAgent({ model, tools, eagerTools, newId: () => 'new' });
  const events = await lastValueFrom(agent.stream('Go.', { fragments: true }).pipe(toArray()));
  return { ran, events };
}

type Events = readonly (RunEvent | Chunk)[];
type Read = (events: Events) => Promise<readonly object[]>;

const pay = { ...season, name: 'pay' };

const callsOf = async (parts: readonly Part[]) => {
  const chunks = acme(parts).model.stream({ ...question, tools: [pay] });
  return (await lastValueFrom(chunks.pipe(accumulateToolCalls(), toArray()))).filter(({ type }) => type === 'toolCall');
};

const byId = (calls: readonly object[]) => new Map(calls.map((each) => [Reflect.get(each, 'id'), each]));

const viewCalls = ({ messages }: View) =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.type !== 'toolCall') return [];
      expect(part.status).toBe('completed');
      return [{ id: part.id, name: part.name, arguments: part.arguments }];
    }),
  );

const readers: Readonly<Record<string, Read>> = {
  'a view': async (events) => viewCalls(await lastValueFrom(from<StreamEvent[]>([...events]).pipe(toView()))),
  'an AG-UI client': async (events) => {
    const sent = from<StreamEvent[]>([...events]).pipe(toAgUi({ threadId: 't', runId: 'r', messages: [] }));
    return viewCalls(await lastValueFrom(sent.pipe(fromAgUi(), toView())));
  },
  useChat: async (events) => {
    const chunks = await lastValueFrom(from<StreamEvent[]>([...events]).pipe(toUiMessageStream(), toArray()));
    const names = new Map(events.flatMap((event) => (event.type === 'toolCall' ? [[event.id, event.name]] : [])));
    return readUiMessage(chunks).parts.flatMap((part) => {
      const { toolCallId: id, input: args, state } = part;
      if (id === undefined || (state === 'output-error' && !names.has(id as string))) return [];
      expect(state).toBe('output-available');
      return names.has(id as string) ? [{ id, name: names.get(id as string), arguments: args }] : [];
    });
  },
};

const readerRows = Object.entries(readers).flatMap(([reader, read]) =>
  Object.entries(rows).map(([title, row]) => ({ title, reader, read, ...row })),
);

describe('createCallDecoder', () => {
  it.each(Object.entries(rows).flatMap(([title, row]) => [false, true].map((eager) => ({ title, eager, ...row }))))(
    'createCallDecoder lets the tool-call count: $title (eager: $eager)',
    async ({ parts, runs, ids, eager }) => {
      const { ran, events } = await run(parts, eager);
      expect(ran).toEqual(runs);
      const calls = events.flatMap((event) => (event.type === 'toolCall' ? [event] : []));
      expect(calls.map(({ name, arguments: args }) => [name, args])).toEqual(runs);
      expect(calls.map(({ id }) => id)).toEqual(ids);
    },
  );

  it.each(readerRows)(
    'createCallDecoder shows $reader the calls that ran: $title',
    async ({ read, parts, runs, ids }) => {
      const { events } = await run(parts, false);
      const ran = runs.map(([name, args], at) => ({ id: ids[at], name, arguments: args }));
      expect(byId(await read(events))).toEqual(byId(ran));
    },
  );

  it('createCallDecoder shows arguments while they grow, and then those of the call', async () => {
    const { events } = await run([...thousand, call('a', 'pay', '{"euros":10}')], false);
    const grown = await lastValueFrom(from<StreamEvent[]>(events).pipe(partialArguments('pay'), toArray()));
    expect(grown.map((partial) => partial.arguments)).toEqual([{ euros: 1000 }, { euros: 10 }]);
    const texts = events.flatMap((event) => (event.type === 'toolCallFragment' ? [event.arguments] : []));
    expect(texts).toEqual([undefined, '{"euros":', '1000}', '', undefined]);
  });

  it('createCallDecoder shows what was not streamed of an input', async () => {
    const { events } = await run([...streamed('a', 'pay', '{"euros"'), call('a', 'pay', '{"euros":10}')], false);
    const texts = events.flatMap((event) => (event.type === 'toolCallFragment' ? [event.arguments] : []));
    expect(texts).toEqual([undefined, '{"euros"', ':10}', undefined]);
  });

  it.each([
    ['length', '{"euros":1'],
    ['length', ''],
    ['length', '{}'],
    ['error', '{"euros":1'],
  ] as const)('createCallDecoder drops a call that is cut by %s: %j', async (unified, text) => {
    for (const parts of [
      [...streamed('a', 'pay', text), call('a', 'pay', text)],
      streamed('a', 'pay', text),
      [call('a', 'pay', text)],
    ])
      expect(await callsOf([...parts, finish(unified)])).toEqual([]);
  });

  it('createCallDecoder knows whether a response ended inside an input', async () => {
    const interrupted = { kind: 'E', error: { code: 'stream_interrupted' } };
    const ending = async (...parts: Part[]) =>
      (await endOf(acme([...parts, finish('other')]).model, { ...question, tools: [pay] })).at(-1);
    expect(await ending(...thousand)).toMatchObject(interrupted);
    expect(await ending(...thousand, call('a', 'pay', '{"euros":1000}'))).toMatchObject({ kind: 'C' });
    expect(await ending(...thousand, call('a', 'pay', '{}', byProvider))).toMatchObject({ kind: 'C' });
  });

  it('createCallDecoder completes each call once, however its input arrives: in fragments, at once, as plain text, truncated', async () => {
    const calls = await callsOf([
      input('c1', 'pay'),
      { type: 'tool-input-start', id: 'c2', toolName: 'pay', inputEncoding: 'text' },
      delta('c1', '{"a":'),
      delta('c2', 'free text'),
      delta('c1', '1}'),
      { type: 'tool-input-end', id: 'c1' },
      call('c1', 'pay', '{"a":1}', signed('x')),
      call('c2', 'pay', '{"text":"free text"}'),
      call('c3', 'pay', ''),
      call('c4', 'pay', '{"cut'),
      finish('tool-calls'),
    ]);
    const providerData = { 'acme.chat': { metadata: { acme: { signature: 'x' } } } };
    expect(calls).toEqual([
      { type: 'toolCall', id: 'c1', name: 'pay', arguments: { a: 1 }, providerData },
      { type: 'toolCall', id: 'c2', name: 'pay', arguments: { text: 'free text' } },
      { type: 'toolCall', id: 'c3', name: 'pay', arguments: {} },
      { type: 'toolCall', id: 'c4', name: 'pay', arguments: { _raw: '{"cut', _error: 'invalid_json' } },
    ]);
  });
});
