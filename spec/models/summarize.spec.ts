import { describe, expect, it, jest } from '@jest/globals';
import { firstValueFrom, from, map, Subject } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import {
  filePart,
  hasToolResults,
  messageText,
  modelMessage,
  systemMessage,
  userMessage,
} from '../../lib/core/message.js';
import type { Message, Part } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { summarize } from '../../lib/models/summarize.js';
import type { SummarizeOptions } from '../../lib/models/summarize.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool } from '../support/toolCalls.js';

const modelOf = (stream: () => Observable<Chunk>): Model => ({ provider: 'test', name: 'test', stream });
const talk = ['u1', 'm1', 'u2', 'm2', 'u3'].map((text, index) =>
  index % 2 === 0 ? userMessage(text) : modelMessage(text),
);
const summaryOf = (text: string) => userMessage(`Summary of the conversation so far:\n\n${text}`);

/** Summaries `s1`, `s2`, ... of histories of more than so many messages. */
const numbered = (when: number, options: Partial<SummarizeOptions> = {}) => {
  const model = scriptedModel(({ turn }) => [
    `s${turn}`,
    { type: 'finish', reason: 'stop', usage: { input: 10, output: 2, total: 12 } },
  ]);
  const shorten = summarize({ model, when: (messages) => messages.length > when, keep: { messages: 2 }, ...options });
  return { model, shorten: (messages: readonly Message[]) => observe(shorten(messages)).values[0] };
};

describe('summarize', () => {
  it('summarize replaces the older messages by a summary, as in its diagram', () =>
    diagram('summarize', ({ summary }: Streams<'summary', Chunk>) => {
      const model = modelOf(() => summary);
      const messages = [userMessage('Hi.'), modelMessage('Hello.'), userMessage('And now?')];
      return summarize({ model, when: () => true, keep: { messages: 1 } })(messages);
    }));

  it('summarize sends no request for a short history, and emits the same array', () => {
    const { model, shorten } = numbered(5);
    expect(shorten(talk)).toBe(talk);
    expect(model.requests).toEqual([]);
    const tokens = summarize({ model, when: 3 });
    expect(observe(tokens(talk)).values[0]).toBe(talk);
    const exact = summarize({ model, when: 2, keep: { messages: 1 } });
    expect(observe(exact(talk)).values[0]).toEqual([summaryOf('s1'), talk[4]]);
  });

  it('summarize shortens a history above its limit of tokens, and none at it', () => {
    const countTokens = (messages: readonly Message[]) => messages.length;
    const shortened = (when: number) =>
      observe(summarize({ model: scriptedModel(['s1']), when, keep: { messages: 1 }, countTokens })(talk)).values[0];
    expect(shortened(5)).toBe(talk);
    expect(shortened(4)).toEqual([summaryOf('s1'), talk[4]]);
  });

  it('summarize sends the older messages as one text, without tools', () => {
    const { model, shorten } = numbered(3, { instructions: 'Be brief.', maxOutputTokens: 99 });
    const call = { type: 'toolCall', id: '1', name: 'look', arguments: { at: 'cat' } } as const;
    const history = [
      systemMessage('Be kind.'),
      userMessage([{ type: 'text', text: 'What is it?' }, filePart(new Uint8Array(9), 'image/png')]),
      modelMessage([{ type: 'text', text: 'I look.' }, call]),
      userMessage([{ type: 'toolResult', id: '1', name: 'look', result: { a: 1 } }]),
      modelMessage([{ ...call, id: '2' }]),
      userMessage([{ type: 'toolResult', id: '2', name: 'look', error: 'blind' }]),
      modelMessage([{ type: 'source', title: 'Cats', url: 'https://example.org' }]),
      userMessage('u'),
    ];
    expect(shorten(history)).toEqual([systemMessage('Be kind.'), summaryOf('s1'), history[7]]);
    expect(model.requests).toEqual([
      {
        messages: [
          systemMessage('Be brief.'),
          userMessage(
            [
              'user: What is it?\n[file: image/png]',
              'model: I look.\n[call of look: {"at":"cat"}]',
              'user: [result of look: {"a":1}]',
              'model: [call of look: {"at":"cat"}]',
              'user: [result of look: blind]',
              'model: [source: Cats]',
            ].join('\n\n'),
          ),
        ],
        maxOutputTokens: 99,
      },
    ]);
  });

  it('summarize names files and sources by what is known of them', () => {
    const { model, shorten } = numbered(1, { keep: { messages: 1 } });
    const parts: readonly Part[] = [
      filePart(new Uint8Array(9), 'application/pdf', 'report.pdf'),
      { type: 'source', url: 'https://example.org' },
      { type: 'source', text: 'A quote.' },
      { type: 'source', title: 'Cats', text: 'A quote.' },
      { type: 'source' },
      { type: 'toolResult', id: '1', name: 'look', error: 'blind' },
    ];
    shorten([userMessage(parts), modelMessage('m1'), userMessage('u2')]);
    expect(messageText(model.requests[0]?.messages[1] ?? userMessage(''))).toBe(
      'user: [file: report.pdf]\n[source: https://example.org]\n[source: A quote.]\n[source: Cats]\n[source: ]\n' +
        '[result of look: blind]\n\nmodel: m1',
    );
  });

  it('summarize keeps 10 messages by default, and asks for what a model needs to continue', () => {
    const model = scriptedModel(['s1']);
    const long = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? userMessage(`u${at}`) : modelMessage(`m${at}`)));
    const shortened = observe(summarize({ model, when: () => true })(long)).values[0];
    expect(shortened).toEqual([summaryOf('s1'), ...long.slice(10)]);
    expect(model.requests[0]).not.toHaveProperty('maxOutputTokens');
    expect(model.requests[0]?.messages[0]).toEqual(
      systemMessage(
        'Summarize this conversation between a user and a model, for the model to continue it. Keep decisions, facts, ' +
          'names, numbers, results of tools, and open tasks. Answer with the summary only.',
      ),
    );
  });

  it('summarize keeps all system messages, also those between the messages that it summarizes', () => {
    const { model, shorten } = numbered(4);
    const history = [
      systemMessage('First.'),
      userMessage('u1'),
      systemMessage('Second.'),
      modelMessage('m1'),
      userMessage('u2'),
    ];
    expect(shorten(history)?.filter(({ role }) => role === 'system')).toEqual([history[0], history[2]]);
    expect(JSON.stringify(model.requests)).not.toMatch(/First|Second/);
    const between = [
      userMessage('u1'),
      modelMessage('m1'),
      userMessage('u2'),
      systemMessage('Last.'),
      userMessage('u3'),
    ];
    expect(numbered(4, { keep: { messages: 3 } }).shorten(between)).toEqual([summaryOf('s1'), ...between.slice(2)]);
    const onlySystem = [
      systemMessage('a'),
      systemMessage('b'),
      systemMessage('c'),
      systemMessage('d'),
      userMessage('u'),
    ];
    expect(shorten(onlySystem)).toBe(onlySystem);
  });

  it('summarize reuses no summary for a history that has other messages', () => {
    const { model, shorten } = numbered(4);
    shorten(talk);
    shorten(talk.map((message) => ({ ...message })));
    expect(model.requests).toHaveLength(2);
  });

  it.each([
    ['of another user', ['v1', undefined, 'v2', undefined, 'v3']],
    ['of the same user, twice', ['u1', undefined, 'u2', undefined, 'u3']],
  ])('summarize reuses no summary for a history %s that has the same answer', (_, texts) => {
    const { model, shorten } = numbered(4);
    const help = modelMessage('You can ask me anything.');
    const historyOf = (all: readonly (string | undefined)[]) =>
      all.map((text) => (text === undefined ? help : userMessage(text)));
    shorten(historyOf(['u1', undefined, 'u2', undefined, 'u3']));
    const short = historyOf(texts.slice(0, 3));
    expect(shorten(short)).toBe(short);
    const long = historyOf(texts);
    expect(shorten(long)).toEqual([summaryOf('s2'), long.at(-1)]);
    expect(model.requests[1]?.messages[1]).toEqual(
      userMessage(
        long
          .slice(0, 4)
          .map(({ role, parts }) => `${role}: ${messageText({ parts })}`)
          .join('\n\n'),
      ),
    );
  });

  it('summarize reuses a summary whatever the system messages are', () => {
    const { model, shorten } = numbered(5);
    shorten([systemMessage('It is 9:00.'), ...talk]);
    expect(shorten([systemMessage('It is 9:01.'), ...talk])).toEqual([
      systemMessage('It is 9:01.'),
      summaryOf('s1'),
      talk[4],
    ]);
    expect(model.requests).toHaveLength(1);
  });

  it('summarize reuses a summary, and includes it in the next one', () => {
    const { model, shorten } = numbered(4);
    expect(shorten(talk)).toEqual([summaryOf('s1'), talk[4]]);
    const longer = [...talk, modelMessage('m3'), userMessage('u4')];
    expect(shorten(longer)).toEqual([summaryOf('s1'), ...longer.slice(4)]);
    expect(model.requests).toHaveLength(1);
    const longest = [...longer, modelMessage('m4'), userMessage('u5')];
    expect(shorten(longest)).toEqual([summaryOf('s2'), userMessage('u5')]);
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]?.messages[1]).toEqual(
      userMessage('user: Summary of the conversation so far:\n\ns1\n\nuser: u3\n\nmodel: m3\n\nuser: u4\n\nmodel: m4'),
    );
    expect(shorten(longest)).toEqual([summaryOf('s2'), userMessage('u5')]);
    expect(model.requests).toHaveLength(2);
  });

  it('summarize reports each summary and its usage, including retracted attempts', () => {
    const onSummary = jest.fn();
    const model = modelOf(() =>
      from<Chunk[]>([
        { type: 'text', text: 'half' },
        { type: 'retract', usage: { total: 5 } },
        { type: 'thinking', text: 'Hm.' },
        { type: 'text', text: 'whole' },
        { type: 'finish', reason: 'stop', usage: { total: 12 } },
      ]),
    );
    const shorten = summarize({ model, when: () => true, keep: { messages: 1 }, onSummary });
    expect(observe(shorten(talk)).values).toEqual([[summaryOf('whole'), talk[4]]]);
    expect(onSummary.mock.calls).toEqual([[{ text: 'whole', usage: { total: 17 } }]]);
  });

  it('summarize keeps the history if the summary is empty, and fails if the request fails', () => {
    const empty = summarize({ model: scriptedModel([' ']), when: () => true, keep: { messages: 1 } });
    expect(observe(empty(talk)).values[0]).toBe(talk);
    const failing = summarize({
      model: scriptedModel([[{ error: new Error('broken') }]]),
      when: () => true,
      keep: { messages: 1 },
    });
    expect(observe(failing(talk)).error).toEqual(new Error('broken'));
  });

  it('summarize keeps everything if what it keeps is all there is', () => {
    const { model, shorten } = numbered(1, { keep: { messages: 9 } });
    expect(shorten(talk)).toBe(talk);
    expect(model.requests).toEqual([]);
  });

  it('summarize is cold, and unsubscribing ends its request', () => {
    const chunks = new Subject<Chunk>();
    const history = summarize({ model: modelOf(() => chunks), when: () => true, keep: { messages: 1 } })(talk);
    expect(chunks.observed).toBe(false);
    const { subscription } = observe(history);
    expect(chunks.observed).toBe(true);
    subscription.unsubscribe();
    expect(chunks.observed).toBe(false);
  });

  it('summarize shortens the requests of a run in prepareTurn: one summary, and its result stays complete', async () => {
    const { model: summarizer } = numbered(0);
    const shorten = summarize({ model: summarizer, when: (m) => m.length > 4, keep: { messages: 3 } });
    const model = scriptedModel([[toolCall('look')], [toolCall('look')], [toolCall('look')], 'Done.']);
    const agent = createAgent({
      model,
      tools: [anyTool('look', () => 1)],
      prepareTurn: ({ messages }) => shorten(messages).pipe(map((shortened) => ({ messages: shortened }))),
    });
    const { messages, usage } = await firstValueFrom(agent.run('u1'));
    expect(messages).toHaveLength(7);
    expect(usage).toEqual({});
    const shapes = model.requests.map((request) =>
      request.messages.map((message) => (hasToolResults(message) ? 'r' : messageText(message).slice(-2) || 'c')),
    );
    expect(shapes).toEqual([['u1'], ['u1', 'c', 'r'], ['s1', 'u1', 'c', 'r'], ['s2', 'u1', 'c', 'r']]);
  });

  it.each([
    [{ when: 0 }, 'when is 0.'],
    [{ when: NaN }, 'when is NaN.'],
    [{ when: 9, keep: {} }, 'keepRecent'],
  ])('summarize rejects %j', (options, message) => {
    expect(() => summarize({ model: scriptedModel([]), ...options })).toThrow(message);
  });
});
