import { describe, expect, it } from '@jest/globals';
import { EMPTY, Subject, concat, from, of, throwError } from 'rxjs';
import type { Chunk, ProviderChunk } from '../../lib/core/chunk.js';
import type { TurnMessageEvent, StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import type { Message } from '../../lib/core/message.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

type In = Exclude<Chunk, { type: 'toolCallFragment' }> | ToolCallEvent;

const text = (value: string): In => ({ type: 'text', text: value });
const finish: In = { type: 'finish', reason: 'stop' };
const forProvider = (data: JsonObject): ProviderChunk => ({ type: 'provider', provider: 'x', data });
const call: ToolCallEvent = { type: 'toolCall', id: 'c1', name: 'add', arguments: { a: 1 } };

function messagesOf(...chunks: readonly In[]): Message[] {
  return observe(from([...chunks, finish]).pipe(consolidate()))
    .values.filter((event): event is TurnMessageEvent => event.type === 'message')
    .map(({ message }) => message);
}

describe('consolidate', () => {
  it('consolidate emits the message just before the finish', () =>
    diagram('consolidate', ({ source }) => source.pipe(consolidate())));

  it.each(
    operatorContract(consolidate(), {
      source: [text('Hello'), forProvider({}), text(' world'), finish],
    }),
  )('consolidate $title', ({ run }) => run());

  it('consolidate joins consecutive text and keeps parts in order of arrival', () => {
    const file: In = { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AA==' } };
    const source: In = { type: 'source', source: { type: 'source', url: 'https://example.org' } };
    expect(messagesOf(text('a'), text(''), text('b'), call, text('c'), file, source, text('d'))).toEqual([
      {
        role: 'model',
        parts: [
          { type: 'text', text: 'ab' },
          call,
          { type: 'text', text: 'c' },
          { type: 'file', mediaType: 'image/png', data: 'AA==' },
          { type: 'source', url: 'https://example.org' },
          { type: 'text', text: 'd' },
        ],
      },
    ]);
  });

  it('consolidate forwards thinking and metadata, which are not part of the message', () => {
    const chunks: In[] = [{ type: 'thinking', text: 'hm' }, { type: 'metadata', metadata: { id: 1 } }, text('a')];
    const { values } = observe(from([...chunks, finish]).pipe(consolidate()));
    expect(values.slice(0, 3)).toEqual(chunks);
    expect(messagesOf(...chunks)[0]?.parts).toEqual([{ type: 'text', text: 'a' }]);
  });

  it.each<[string, In[]]>([
    ['nothing', []],
    ['only empty text', [text('')]],
    ['only thinking and a part for the provider', [{ type: 'thinking', text: 'hm' }, forProvider({ signature: 's' })]],
  ])('consolidate emits no message for %s', (_, chunks) => {
    expect(messagesOf(...chunks)).toEqual([]);
  });

  it('consolidate keeps the parts for a provider at their places, and they separate the texts', () => {
    const [message] = messagesOf(text('a'), forProvider({ n: 1 }), forProvider({ n: 2 }), text('b'), text('c'), call);
    expect(message).toEqual({
      role: 'model',
      parts: [text('a'), forProvider({ n: 1 }), forProvider({ n: 2 }), text('bc'), call],
    });
  });

  it('consolidate emits a message of provider parts alone if the turn is paused, or if one stands alone', () => {
    const part = forProvider({ id: 'request' });
    const alone = [{ role: 'model', parts: [part] }];
    expect(messagesOf({ ...part, standsAlone: true })).toEqual(alone);
    const paused = from<In[]>([part, { type: 'finish', reason: 'paused' }]).pipe(consolidate());
    expect(observe(paused).values[0]).toEqual({ type: 'message', message: alone[0] });
  });

  it('consolidate discards what it has collected on retract', () => {
    expect(messagesOf(text('void'), call, { type: 'retract' }, text('good'))).toEqual([
      { role: 'model', parts: [{ type: 'text', text: 'good' }] },
    ]);
  });

  it.each([
    ['a completion without finish', EMPTY],
    ['an error', throwError(() => new Error('reset'))],
  ])('consolidate emits no message on %s', (_, end) => {
    const seen = observe(concat(of(text('a')), end).pipe(consolidate()));
    expect(seen.values).toEqual([text('a')]);
  });

  it('consolidate preserves the types of custom events', () => {
    interface Mine extends StreamEvent {
      readonly type: 'mine';
      readonly n: number;
    }
    const { values } = observe(of<(Mine | Chunk)[]>({ type: 'mine', n: 1 }).pipe(consolidate()));
    const first: Exclude<Chunk, { type: 'provider' }> | TurnMessageEvent | Mine | undefined = values[0];
    expect(first?.type === 'mine' ? first.n : undefined).toBe(1);
  });

  it('consolidate does not change a message that it has emitted, over two turns', () => {
    const source = new Subject<In>();
    const { values } = observe(source.pipe(consolidate()));
    [text('a'), finish].forEach((chunk) => source.next(chunk));
    const [first] = values.filter((event): event is TurnMessageEvent => event.type === 'message');
    const emitted = JSON.stringify(first);
    [text('b'), call, finish].forEach((chunk) => source.next(chunk));
    const messages = values.filter((event): event is TurnMessageEvent => event.type === 'message');
    expect(messages.map(({ message }) => message.parts)).toEqual([
      [{ type: 'text', text: 'a' }],
      [{ type: 'text', text: 'b' }, call],
    ]);
    expect(JSON.stringify(first)).toBe(emitted);
  });

  it('consolidate keeps provider data in the message and removes it from the events', () => {
    const providerData = { google: 'signature' };
    const file: In = { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AA==', providerData } };
    const source: In = { type: 'source', source: { type: 'source', url: 'https://example.org', providerData } };
    const { values } = observe(
      from<In[]>([forProvider({ n: 1 }), { ...call, providerData }, file, source, finish]).pipe(consolidate()),
    );
    const events = values.filter((event) => event.type !== 'message');
    expect(events).toEqual([
      call,
      { type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AA==' } },
      { type: 'source', source: { type: 'source', url: 'https://example.org' } },
      finish,
    ]);
    const message = values.find((event): event is TurnMessageEvent => event.type === 'message')?.message;
    expect(message?.parts.map((part) => ('providerData' in part ? part.providerData : part))).toEqual([
      forProvider({ n: 1 }),
      providerData,
      providerData,
      providerData,
    ]);
  });

  it('consolidate forwards no empty text and no empty thinking', () => {
    const { values } = observe(
      from<In[]>([text('a'), text(''), { type: 'thinking', text: '' }, finish]).pipe(consolidate()),
    );
    expect(values).toEqual([
      text('a'),
      { type: 'message', message: { role: 'model', parts: [{ type: 'text', text: 'a' }] } },
      finish,
    ]);
  });

  it('consolidate forwards the same objects if they have no provider data', () => {
    const chunks: In[] = [text('a'), { type: 'thinking', text: 'hm' }, call];
    const { values } = observe(from([...chunks, finish]).pipe(consolidate()));
    chunks.forEach((chunk, at) => expect(values[at]).toBe(chunk));
  });
});
