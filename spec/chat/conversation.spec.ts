import { describe, expect, it, jest } from '@jest/globals';
import { concat, config, defer, delay, finalize, from, map, NEVER, of, Subject, take, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { ConfigurationError } from '../../lib/core/errors.js';
import type { RunResult, StreamEvent } from '../../lib/core/event.js';
import { messagesOf } from '../../lib/core/input.js';
import type { Input } from '../../lib/core/input.js';
import { messageText, userMessage } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Conversation, ConversationOptions } from '../../lib/chat/conversation.js';
import { progress } from '../../lib/core/progress.js';
import type { ConversationAgent } from '../../lib/chat/conversationAgent.js';
import { pageTools } from '../../lib/chat/pageTools.js';
import type { SavedConversation } from '../../lib/chat/savedConversation.js';
import type { PartView } from '../../lib/operators/view/view.js';
import { observe } from '../support/observe.js';

const city = z.object({ city: z.string() });
const weather = tool({
  name: 'weather',
  description: 'The temperature of a city.',
  parameters: city,
  needsApproval: true,
  execute: (args) => `5 °C in ${args.city}`,
});
/** Declared for the model, and executed elsewhere. */
const zone = { name: 'zone', description: 'The time zone of the user.', parameters: z.object({}) } as const;
const remoteZone = tool(zone);
const localZone = tool({ ...zone, execute: () => 'Europe/Oslo' });

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** A part as one word. */
const word = (part: PartView): string => {
  if (part.type === 'text') return part.text;
  if (part.type !== 'toolCall') return `(${part.type})`;
  const outcome = part.error ?? part.result;
  return `[${part.name} ${part.status}${typeof outcome === 'string' ? ` ${outcome}` : ''}]`;
};

/** What is shown: each message as one string. */
const shown = (chat: Conversation): readonly string[] =>
  chat.view.exchanges.flatMap(({ messages }) => messages.map(({ parts }) => parts.map(word).join('')));

/** Starts a conversation with a scripted model. */
function start(script: Script<ScriptedRequest>, options: ConversationOptions = {}) {
  const model = scriptedModel(script);
  const chat = conversation(createAgent({ model, tools: [weather, remoteZone] }), options);
  const seen = observe(chat.view$);
  const requests = () => model.requests.map(({ messages }) => messages.map(messageText));
  return { chat, seen, requests };
}

/** A model whose responses a spec controls: `responses[n]` is that of the request n. */
function controlled(options: ConversationOptions = {}) {
  const responses: Subject<Chunk>[] = [];
  const left: number[] = [];
  const respond = (): Observable<Chunk> => {
    const response = new Subject<Chunk>();
    const index = responses.push(response) - 1;
    return response.pipe(finalize(() => left.push(index)));
  };
  const say = (index: number, text: string) => responses[index]?.next({ type: 'text', text });
  const end = (index: number) => {
    responses[index]?.next({ type: 'finish', reason: 'stop' });
    responses[index]?.complete();
  };
  return { ...start(() => defer(respond), options), say, end, left };
}

const lastCallId = (chat: Conversation): string => {
  const calls = chat.view.exchanges.flatMap(({ messages }) => messages.flatMap(({ parts }) => parts));
  const call = calls.findLast((part) => part.type === 'toolCall');
  return call?.type === 'toolCall' ? call.id : '';
};

describe('conversation: prompts', () => {
  it('view$ emits the current view at subscription, then each change', () => {
    const { chat, seen } = start(['Hello']);
    expect(seen.values).toEqual([{ status: 'idle', exchanges: [], waiting: [], queued: [] }]);
    chat.send('Hi');
    expect(seen.values.map(({ status }) => status)).toEqual(['idle', 'sending', 'streaming', 'streaming', 'idle']);
    expect(shown(chat)).toEqual(['Hi', 'Hello']);
    expect(observe(chat.view$).values).toEqual([chat.view]);
  });

  it('a conversation sends the earlier prompts and answers with each prompt', () => {
    const { chat, requests } = start(['Hello', 'Well']);
    chat.send('Hi');
    chat.send([userMessage('How are'), userMessage('you?')]);
    expect(requests()[1]).toEqual(['Hi', 'Hello', 'How are', 'you?']);
    expect(shown(chat)).toEqual(['Hi', 'Hello', 'How are', 'you?', 'Well']);
  });

  it('a conversation completes with its prompts', () => {
    const agent = createAgent({ model: scriptedModel(['One', 'Two']) });
    const seen = observe(conversation(agent, from(['a', 'b'])).view$);
    expect(seen.completed).toBe(true);
    expect(seen.values.at(-1)).toMatchObject({ status: 'idle', exchanges: [{ status: 'idle' }, { status: 'idle' }] });
  });

  it('a conversation whose prompts have completed waits for the decision about a call', () => {
    const agent = createAgent({
      model: scriptedModel([[toolCall('weather', { city: 'Oslo' }, 'w')], 'Done']),
      tools: [weather],
    });
    const chat = conversation(agent, of('a'));
    const seen = observe(chat.view$);
    expect(seen.completed).toBe(false);
    chat.decide('w', { approve: true });
    expect(seen.completed).toBe(true);
    expect(shown(chat)[1]).toBe('[weather completed 5 °C in Oslo]Done');
  });

  it('a conversation fails if its prompts fail', () => {
    const agent = createAgent({ model: scriptedModel([]) });
    const broken = new Error('broken');
    expect(
      observe(
        conversation(
          agent,
          throwError(() => broken),
        ).view$,
      ).error,
    ).toBe(broken);
  });

  it('unchanged exchanges keep their identity', () => {
    const { chat, seen } = start(['One', 'Two']);
    chat.send('a');
    const [first] = chat.view.exchanges;
    chat.send('b');
    for (const { exchanges } of seen.values.slice(-4)) expect(exchanges[0]).toBe(first);
  });

  it('a failed run keeps what was shown, and the conversation goes on with it', () => {
    const { chat, requests } = start([['Par', { error: new Error('broken') }], 'Again']);
    chat.send('a');
    expect(chat.view).toMatchObject({ status: 'failed', exchanges: [{ error: { message: 'broken' } }] });
    chat.send('b');
    expect(requests()[1]).toEqual(['a', 'Par', 'b']);
    expect(shown(chat)).toEqual(['a', 'Par', 'b', 'Again']);
  });

  it('an agent that ends without a result counts as interrupted', () => {
    const agent: ConversationAgent = {
      stream: () => of({ type: 'text', text: 'Par' } as StreamEvent),
      resume: () => NEVER,
    };
    const chat = conversation(agent);
    observe(chat.view$);
    chat.send('a');
    expect(chat.view).toMatchObject({ status: 'failed', exchanges: [{ error: { code: 'stream_interrupted' } }] });
  });
});

describe('conversation: prompts during a run', () => {
  it('queue: a prompt waits for the end of the run', () => {
    const { chat, requests, say, end } = controlled();
    for (const prompt of ['a', 'b', 'c']) chat.send(prompt);
    expect(chat.view.queued).toEqual(['b', 'c']);
    say(0, 'One');
    expect(requests()).toHaveLength(1);
    end(0);
    expect(chat.view.queued).toEqual(['c']);
    say(1, 'Two');
    end(1);
    expect(requests()[2]).toEqual(['a', 'One', 'b', 'Two', 'c']);
  });

  it('interrupt: the run is stopped, keeps what it has, and the prompt follows', () => {
    const { chat, requests, say, left } = controlled({ whenBusy: 'switch' });
    chat.send('a');
    say(0, 'One');
    chat.send('b');
    expect(left).toEqual([0]);
    expect(requests()[1]).toEqual(['a', 'One', 'b']);
    expect(chat.view.exchanges[0]).toMatchObject({ status: 'stopped', finishReason: 'stopped' });
  });

  it('interrupt: of the prompts that arrive while a run stops, only the last one is answered', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      // A server needs time to stop a run.
      const asked: Input[] = [];
      const agent: ConversationAgent = {
        stream: (input, { stop }) => {
          asked.push(input);
          const result = { finishReason: 'stopped', messages: [] } as unknown as RunResult;
          return stop.pipe(
            take(1),
            delay(10),
            map(() => ({ type: 'result', result })),
          );
        },
        resume: () => NEVER,
      };
      const chat = conversation(agent, from(['a', 'b', 'c']), { whenBusy: 'switch' });
      observe(chat.view$);
      flush();
      expect(asked.map((input) => messagesOf(input).map(messageText))).toEqual([['a'], ['b'], ['c']]); // the agent decides what a run costs that is stopped at once
      expect(chat.view.exchanges.map(({ status }) => status)).toEqual(['stopped', 'stopped', 'sending']);
    });
  });

  it('ignore: a prompt is dropped', () => {
    const { chat, requests, end } = controlled({ whenBusy: 'exhaust' });
    chat.send('a');
    chat.send('b');
    end(0);
    expect(requests()).toHaveLength(1);
    chat.send('c');
    expect(requests()).toHaveLength(2);
  });

  it('stop ends the run with what it has, and drops the prompts that wait', () => {
    const { chat, requests, say, left } = controlled();
    chat.send('a');
    chat.send('b');
    say(0, 'One');
    chat.stop();
    expect(left).toEqual([0]);
    expect(chat.view).toMatchObject({ status: 'stopped', queued: [] });
    expect(shown(chat)).toEqual(['a', 'One']);
    chat.send('c');
    expect(requests()[1]).toEqual(['a', 'One', 'c']);
  });

  it('stop without a run changes nothing', () => {
    const { chat, seen } = start(['One']);
    chat.stop();
    chat.send('a');
    chat.stop();
    expect(seen.values.at(-1)).toMatchObject({ status: 'idle', exchanges: [{ status: 'idle' }] });
  });
});

describe('conversation: versions', () => {
  it('regenerate adds another answer to the same prompt, and select shows the first', () => {
    const { chat, requests } = start(['One', 'Two', 'Three']);
    chat.send('a');
    chat.send('b');
    chat.regenerate();
    expect(requests()[2]).toEqual(['a', 'One', 'b']);
    expect(shown(chat)).toEqual(['a', 'One', 'b', 'Three']);
    const versions = chat.view.exchanges[1]?.versions ?? [];
    expect(versions).toHaveLength(2);
    expect(chat.view.exchanges[1]?.id).toBe(versions[1]);
    chat.select(versions[0] ?? '');
    expect(shown(chat)).toEqual(['a', 'One', 'b', 'Two']);
    expect(chat.view.exchanges[1]?.versions).toEqual(versions);
  });

  it('edit replaces a prompt and what follows it, and select shows the newest end of a branch', () => {
    const { chat, requests } = start(['One', 'Two', 'Three', 'Four']);
    chat.send('a');
    chat.send('b');
    const [first] = chat.view.exchanges;
    chat.edit(first?.id ?? '', 'A');
    expect(shown(chat)).toEqual(['A', 'Three']);
    expect(requests()[2]).toEqual(['A']);
    chat.send('B');
    chat.select(first?.id ?? '');
    expect(shown(chat)).toEqual(['a', 'One', 'b', 'Two']);
    chat.select(chat.view.exchanges[0]?.versions[1] ?? '');
    expect(shown(chat)).toEqual(['A', 'Three', 'B', 'Four']);
  });

  it.each(['concat', 'switch', 'exhaust', 'merge'] as const)(
    'an edit while its run stops outlives a reload: %s',
    (whenBusy) => {
      const endless: ConversationAgent = { stream: () => NEVER, resume: () => NEVER };
      const before = conversation(endless, { whenBusy });
      before.view$.subscribe();
      before.send('a');
      const [first] = before.view.exchanges;
      before.edit(first?.id ?? '', 'A');
      expect(before.view.queued).toEqual(['A']);
      const { queued, ...saved } = JSON.parse(JSON.stringify(before.save())) as SavedConversation;
      for (const [exchanges, versions] of [
        [saved.exchanges, 2],
        [[], 1],
      ] as const) {
        const all = exchanges.length > 0 ? { ...saved, queued } : { version: 1 as const, exchanges, queued };
        const after = conversation(createAgent({ model: scriptedModel(['One']) }), { saved: all, whenBusy });
        after.view$.subscribe();
        expect(shown(after)).toEqual(['A', 'One']);
        expect(after.view.exchanges[0]?.versions).toHaveLength(versions);
      }
    },
  );

  it('regenerate stops the run that goes on', () => {
    const { chat, say, end, left } = controlled();
    chat.send('a');
    say(0, 'One');
    chat.regenerate();
    expect(left).toEqual([0]);
    say(1, 'Two');
    end(1);
    expect(shown(chat)).toEqual(['a', 'Two']);
    expect(chat.view.exchanges[0]?.versions).toHaveLength(2);
  });
});

describe('conversation: calls that wait', () => {
  it('decide goes on with the run when the call is approved', () => {
    const { chat } = start([[toolCall('weather', { city: 'Oslo' })], 'It is cold.']);
    chat.send('a');
    expect(chat.view).toMatchObject({ status: 'waiting', waiting: [{ name: 'weather', arguments: { city: 'Oslo' } }] });
    chat.decide(lastCallId(chat), { approve: true });
    expect(chat.view.waiting).toEqual([]);
    expect(shown(chat)).toEqual(['a', '[weather completed 5 °C in Oslo]It is cold.']);
    expect(chat.view.status).toBe('idle');
  });

  it('a run that waits for several decisions goes on after the last one', () => {
    const calls = [toolCall('weather', { city: 'Oslo' }, 'x'), toolCall('weather', { city: 'Rome' }, 'y')];
    const { chat, requests } = start([calls, 'Done']);
    chat.send('a');
    chat.decide('x', { approve: false, reason: 'Too cold.' });
    expect(shown(chat)[1]).toBe('[weather pending][weather waiting]');
    expect(requests()).toHaveLength(1);
    chat.decide('y', { approve: true, arguments: { city: 'Paris' } });
    expect(shown(chat)[1]).toBe(
      '[weather denied The user denied the call. Reason: Too cold.][weather completed 5 °C in Paris]Done',
    );
  });

  it('a second decision has no effect, also within a subscriber', () => {
    const calls = ['x', 'y'].map((id) => toolCall('weather', { city: 'Oslo' }, id));
    const { chat, requests } = start([calls, 'Done']);
    chat.view$.subscribe(({ waiting }) => {
      for (const { id } of waiting) chat.decide(id, { approve: true });
    });
    chat.send('a');
    chat.decide('x', { approve: false });
    expect(shown(chat)[1]).toBe('[weather completed 5 °C in Oslo][weather completed 5 °C in Oslo]Done');
    expect(requests()).toHaveLength(2);
  });

  it('answer gives the result of a call without execute', () => {
    const { chat } = start([[toolCall('zone')], 'Done']);
    chat.send('a');
    chat.answer(lastCallId(chat), 'Asia/Tokyo');
    expect(shown(chat)[1]).toBe('[zone completed Asia/Tokyo]Done');
  });

  it('tools executes the calls of this page', () => {
    const { chat, seen } = start([[toolCall('zone')], 'Done'], { tools: pageTools([localZone]) });
    chat.send('a');
    expect(shown(chat)[1]).toBe('[zone completed Europe/Oslo]Done');
    expect(seen.values.map(({ status }) => status)).toContain('runningTools');
    expect(seen.values.flatMap(({ waiting }) => waiting)).toEqual([]);
  });

  it.each([[[localZone]], [{}], [{ has: () => true }]])(
    'tools that pageTools has not returned are refused: %#',
    (tools) => {
      expect(() => start(['Hi'], { tools: tools as never })).toThrow(/`tools`.*pageTools/);
    },
  );

  it('tools reports the error of a tool to the model', () => {
    const failing = tool({ ...zone, execute: () => throwError(() => new Error('no permission')) });
    const { chat } = start([[toolCall('zone')], 'Sorry'], { tools: pageTools([failing]) });
    chat.send('a');
    expect(shown(chat)[1]).toContain('no permission');
    expect(shown(chat)[1]).toContain('Sorry');
  });

  it('tools executes some calls, and waits for the decision about others', () => {
    const { chat } = start([[toolCall('zone'), toolCall('weather', { city: 'Oslo' }, 'w')], 'Done'], {
      tools: pageTools([localZone]),
    });
    chat.send('a');
    expect(chat.view.status).toBe('waiting');
    expect(shown(chat)[1]).toBe('[zone completed Europe/Oslo][weather waiting]');
    chat.decide('w', { approve: true });
    expect(shown(chat)[1]).toBe('[zone completed Europe/Oslo][weather completed 5 °C in Oslo]Done');
  });

  it('stop cancels a tool of this page and the run', () => {
    let isLeft = false;
    const slow = tool({ ...zone, execute: () => NEVER.pipe(finalize(() => (isLeft = true))) });
    const { chat, requests } = start([[toolCall('zone')], 'Next'], { tools: pageTools([slow]) });
    chat.send('a');
    expect(chat.view.status).toBe('runningTools');
    chat.stop();
    expect(isLeft).toBe(true);
    expect(chat.view.status).toBe('stopped');
    expect(shown(chat)[1]).toBe('[zone cancelled The call was cancelled.]');
    chat.send('b');
    expect(requests()).toHaveLength(2);
  });

  it('stop cancels a call that waits', () => {
    const { chat } = start([[toolCall('weather', { city: 'Oslo' })], 'Next']);
    chat.send('a');
    chat.stop();
    expect(shown(chat)[1]).toBe('[weather cancelled The call was cancelled.]');
    expect(chat.view.exchanges[0]?.messages[1]?.ended).toBe('stopped');
    chat.send('b');
    expect(shown(chat).at(-1)).toBe('Next');
  });

  it('a prompt waits until a waiting call is decided', () => {
    const { chat } = start([[toolCall('weather', { city: 'Oslo' }, 'w')], 'Cold', 'Next']);
    chat.send('a');
    chat.send('b');
    expect(chat.view.queued).toEqual(['b']);
    chat.decide('w', { approve: true });
    expect(shown(chat).slice(1)).toEqual(['[weather completed 5 °C in Oslo]Cold', 'b', 'Next']);
  });

  it('a decision during the run counts when the run waits', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const calls = [toolCall('weather', { city: 'Oslo' }, 'w'), toolCall('slow', {}, 's')];
      const never = new Subject<string>();
      const slow = tool({ name: 'slow', description: 'Takes time.', parameters: z.object({}), execute: () => never });
      const agent = createAgent({ model: scriptedModel([calls, 'Done']), tools: [weather, slow] });
      const chat = conversation(agent);
      observe(chat.view$);
      chat.send('a');
      expect(shown(chat)[1]).toBe('[weather waiting][slow running]');
      const waiting = observe(chat.view$.pipe(map(({ waiting: calls }) => calls.length)));
      chat.decide('w', { approve: true });
      expect(waiting.values).toEqual([1, 0]);
      never.next('slowly');
      never.complete();
      flush();
      expect(shown(chat)[1]).toBe('[weather completed 5 °C in Oslo][slow completed slowly]Done');
    });
  });

  it('a call that was decided during the run does not wait again when the run continues', () => {
    const slow = new Subject<string>();
    const wait = tool({ name: 'wait', description: 'Takes time.', parameters: z.object({}), execute: () => slow });
    const script = [
      [toolCall('weather', { city: 'Oslo' }, 'w'), toolCall('wait', {}, 's')].flat(),
      [toolCall('weather', { city: 'Bergen' }, 'x')],
      'Done',
    ];
    const chat = conversation(createAgent({ model: scriptedModel(script), tools: [weather, wait] }));
    const asked: string[] = [];
    // A user who decides as soon as a call is shown as waiting.
    chat.view$.subscribe(({ waiting }) => {
      for (const { id } of waiting) {
        asked.push(id);
        chat.decide(id, { approve: true });
      }
    });
    chat.send('a');
    slow.next('slowly');
    slow.complete();
    expect(asked).toEqual(['w', 'x']);
    expect(chat.view.status).toBe('idle');
    expect(shown(chat)[1]).toContain('[weather completed 5 °C in Bergen]Done');
  });
});

describe('conversation: subscribers that act', () => {
  it('a prompt that a subscriber sends does not overtake the prompt before it', () => {
    const { chat, requests, end } = controlled();
    let isSent = false;
    chat.view$.subscribe(({ queued }) => {
      if (queued.length === 0 || isSent) return;
      isSent = true;
      chat.send('c');
    });
    for (const prompt of ['a', 'b']) chat.send(prompt);
    for (const index of [0, 1, 2]) end(index);
    expect(requests().at(-1)).toEqual(['a', 'b', 'c']);
    expect(chat.view).toMatchObject({ status: 'idle', queued: [] });
  });

  it('all subscribers see the views in one order, also if the first one stops the run', () => {
    const { chat, say } = controlled();
    chat.view$.subscribe(({ status }) => status === 'streaming' && chat.stop());
    const second = observe(chat.view$);
    chat.send('a');
    say(0, 'One');
    expect(second.values.map(({ status }) => status)).toEqual(['idle', 'sending', 'streaming', 'stopped']);
  });

  it('a subscriber may send and decide at its first view', () => {
    const { chat } = start([[toolCall('weather', { city: 'Oslo' }, 'w')]]);
    chat.send('a');
    const agent = createAgent({ model: scriptedModel(['Done', 'Next']), tools: [weather] });
    const reloaded = conversation(agent, { saved: asJson(chat.save()) });
    let isFirst = true;
    reloaded.view$.subscribe(({ waiting }) => {
      for (const { id } of waiting) reloaded.decide(id, { approve: true });
      if (isFirst) reloaded.send('b');
      isFirst = false;
    });
    expect(shown(reloaded)).toEqual(['a', '[weather completed 5 °C in Oslo]Done', 'b', 'Next']);
  });

  it('a call that waits in a version that is not shown can be decided', () => {
    const { chat, say, end } = controlled();
    chat.send('a');
    end(0);
    chat.regenerate();
    const [first] = chat.view.exchanges[0]?.versions ?? [];
    say(1, 'One');
    chat.select(first ?? '');
    end(1);
    const other = start(['One', [toolCall('weather', { city: 'Oslo' }, 'w')], 'Done']).chat;
    other.send('a');
    other.regenerate();
    other.select(other.view.exchanges[0]?.versions[0] ?? '');
    expect(other.view).toMatchObject({ status: 'idle', waiting: [{ id: 'w' }] });
    other.decide('w', { approve: true });
    other.select(other.view.exchanges[0]?.versions[1] ?? '');
    expect(shown(other)[1]).toBe('[weather completed 5 °C in Oslo]Done');
  });

  it('select of the version that is shown changes nothing', () => {
    const { chat } = start([[toolCall('weather', { city: 'Oslo' }, 'w')], 'Done']);
    chat.send('a');
    chat.send('b');
    const before = chat.view;
    chat.select(chat.view.exchanges[0]?.id ?? '');
    expect(chat.view).toEqual(before);
  });

  it('regenerate drops the prompts that wait, since they continue what it replaces', () => {
    const { chat, requests, say, end } = controlled();
    for (const prompt of ['a', 'b']) chat.send(prompt);
    chat.regenerate();
    say(1, 'Two');
    end(1);
    expect(requests()).toEqual([['a'], ['a']]);
    expect(chat.view).toMatchObject({ status: 'idle', queued: [] });
  });

  it('an error after the result does not make the answer a failure', () => {
    const result = { finishReason: 'stop', messages: [] } as unknown as RunResult;
    const agent: ConversationAgent = {
      stream: () =>
        concat(
          of<StreamEvent>({ type: 'result', result } as StreamEvent),
          throwError(() => new Error('late')),
        ),
      resume: () => NEVER,
    };
    const chat = conversation(agent);
    observe(chat.view$);
    chat.send('a');
    expect(chat.view.status).toBe('idle');
  });

  it('tools that this page cannot execute are refused', () => {
    for (const invalid of [remoteZone, weather])
      expect(() => pageTools([invalid])).toThrow('has no `execute`, or needs an approval');
  });
});

describe('conversation: save', () => {
  it('a saved conversation shows what was seen: versions, thinking, usage, stopped and failed runs', () => {
    const { chat } = start([
      [{ type: 'thinking', text: 'Hm.' }, 'One', { type: 'finish', reason: 'stop', usage: { input: 3, output: 2 } }],
      ['Par', { error: new Error('broken') }],
      'Three',
    ]);
    for (const prompt of ['a', 'b']) chat.send(prompt);
    chat.regenerate();
    const saved = asJson(chat.save());
    const other = conversation(createAgent({ model: scriptedModel(['Four']) }), { saved });
    observe(other.view$);
    expect(asJson(other.view)).toEqual(asJson(chat.view));
    expect(asJson(other.save())).toEqual(saved);
    other.select(other.view.exchanges[1]?.versions[0] ?? '');
    expect(other.view).toMatchObject({ status: 'failed', exchanges: [{}, { error: { message: 'broken' } }] });
    other.send('c');
    expect(shown(other).at(-1)).toBe('Four');
  });

  it('a call that waits can be decided after a reload', () => {
    const script = [
      [toolCall('weather', { city: 'Oslo' }, 'w'), toolCall('weather', { city: 'Rome' }, 'v')],
      'Done',
    ] as const;
    const { chat } = start(script);
    chat.send('a');
    chat.decide('w', { approve: true });
    const { chat: reloaded } = start(script.slice(1), { saved: asJson(chat.save()) });
    reloaded.decide('v', { approve: true });
    expect(shown(reloaded)[1]).toBe('[weather completed 5 °C in Oslo][weather completed 5 °C in Rome]Done');
  });

  it('a conversation that is saved at any view goes on to the same end', () => {
    const calls = [toolCall('zone'), toolCall('weather', { city: 'Oslo' }, 'w')];
    const script: Script<ScriptedRequest> = ({ messages }) => (messages.length === 1 ? ['Wait. ', ...calls] : 'Done');
    const progressing = tool({ ...zone, execute: () => of(progress('asking'), 'Europe/Oslo') });
    const { chat } = start(script, { tools: pageTools([progressing]) });
    const saves: SavedConversation[] = [];
    const stored = observe(chat.saved$);
    chat.view$.subscribe(() => saves.push(asJson(chat.save())));
    chat.send('a');
    chat.decide('w', { approve: true });
    expect(saves.length).toBeGreaterThan(15);
    expect(stored.values.length).toBeLessThan(saves.length);
    const ends = saves.slice(1).map((saved) => {
      const { chat: reloaded } = start(script, { saved, tools: pageTools([progressing]) });
      if (reloaded.view.waiting.length > 0) reloaded.decide('w', { approve: true });
      return reloaded.view.status === 'failed' ? 'interrupted' : shown(reloaded)[1];
    });
    const expected = saves.slice(1).map(({ exchanges }) => (exchanges[0]?.base ? 'interrupted' : shown(chat)[1]));
    expect(ends).toEqual(expected); // a local run ends with its page, a call that waits or is executed here does not
    expect(expected.filter((end) => end !== 'interrupted').length).toBeGreaterThan(5);
  });

  it('a local run ends with its page: what was shown stays, and is part of the history', () => {
    const { chat, say } = controlled();
    chat.send('a');
    say(0, 'One');
    const { chat: reloaded, requests } = start(['Two'], { saved: asJson(chat.save()) });
    expect(reloaded.view).toMatchObject({ status: 'failed', exchanges: [{ error: { code: 'stream_interrupted' } }] });
    reloaded.send('b');
    expect(requests()[0]).toEqual(['a', 'One', 'b']);
  });

  it('unsubscribing aborts a local run, and the next subscriber finds it interrupted', () => {
    const { chat, seen, say, left } = controlled();
    chat.send('a');
    chat.send('b');
    say(0, 'One');
    seen.subscription.unsubscribe();
    expect(left).toEqual([0]);
    observe(chat.view$);
    expect(chat.view.exchanges.map(({ status }) => status)).toEqual(['failed', 'sending']);
  });
});

describe('conversation: mistakes', () => {
  const failure = (run: () => unknown): string => {
    try {
      run();
    } catch (thrown) {
      if (thrown instanceof ConfigurationError) return thrown.message;
    }
    return 'no ConfigurationError';
  };

  it('a method that nobody can carry out throws a ConfigurationError that says what to do', () => {
    const chat = conversation(createAgent({ model: scriptedModel(['One']) }));
    expect(failure(() => chat.send('a'))).toContain('Subscribe to `view$` first.');
    observe(chat.view$);
    expect(failure(() => chat.regenerate())).toContain('no exchange');
    expect(failure(() => chat.edit('x', 'a'))).toContain('no exchange with the id "x"');
    expect(failure(() => chat.select('x'))).toContain('no exchange with the id "x"');
    expect(failure(() => chat.decide('x', { approve: true }))).toContain('no call with the id "x"');
    expect(failure(() => chat.answer('x', 1))).toContain('no call with the id "x"');
  });

  const notInputs: Readonly<Record<string, unknown>> = {
    null: null,
    undefined,
    'a number': 5,
    'an object': {},
    'an empty list': [],
    'an empty text': '',
    'a message without parts': { role: 'user' },
    'a message with no part': { role: 'user', parts: [] },
    'a message with an empty text': userMessage(''),
    'a part that is null': { role: 'user', parts: [null] },
    'a text part without a text': { role: 'user', parts: [{ type: 'text' }] },
    'a role that does not exist': { role: 'assistant', parts: [{ type: 'text', text: 'Hi' }] },
    'a message within a list': [userMessage('Hi'), { role: 'assistant' }],
  };

  it.each(Object.keys(notInputs))('an input that is %s is refused, and the conversation goes on', (name) => {
    const input = notInputs[name] as Input;
    const prompts = new Subject<Input>();
    const chat = conversation(createAgent({ model: scriptedModel(() => 'One') }), prompts);
    const seen = observe(chat.view$);
    chat.send('a');
    const id = chat.view.exchanges[0]?.id ?? '';
    const before = seen.values.length;
    expect(failure(() => chat.send(input))).toMatch(/is not a message|nothing to send/);
    expect(failure(() => chat.edit(id, input))).toMatch(/is not a message|nothing to send/);
    const reported: unknown[] = [];
    const { onUnhandledError } = config;
    config.onUnhandledError = (thrown) => reported.push(thrown);
    jest.useFakeTimers();
    prompts.next(input);
    jest.runAllTimers();
    jest.useRealTimers();
    config.onUnhandledError = onUnhandledError;
    expect(reported).toEqual([expect.any(ConfigurationError)]);
    expect([seen.values.length, seen.error]).toEqual([before, undefined]);
    prompts.next('b');
    expect(chat.view.exchanges.map(({ status }) => status)).toEqual(['idle', 'idle']);
  });

  it('a value that save did not return starts a new conversation, whose view says why', () => {
    const agent = createAgent({ model: scriptedModel([]) });
    for (const saved of [{}, [], 'x', { version: 2, exchanges: [] }])
      expect(conversation(agent, { saved: saved as never }).view).toMatchObject({
        exchanges: [],
        savedError: { code: 'configuration', message: expect.stringContaining('cannot be read') },
      });
  });
});
