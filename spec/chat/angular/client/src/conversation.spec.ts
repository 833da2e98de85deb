import { ChangeDetectionStrategy, Component, inject, Injectable, input, signal } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { EMPTY, NEVER, Observable, of } from 'rxjs';
import { agentTool, createAgent, tool } from 'rivulet';
import { injectConversation, provideAgent } from 'rivulet/angular';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { pageTools } from 'rivulet/chat';
import type { ConversationAgent, ExchangeView } from 'rivulet/chat';
import * as z from 'zod';
import { agentByHand, provide, show, textOf } from './setup';

/** How often the template of each exchange was executed. */
const renderings = new Map<string, number>();

@Component({
  selector: 'app-exchange',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `{{ text() }}`,
})
class Exchange {
  readonly exchange = input.required<ExchangeView>();
  protected text(): string {
    const { id, messages } = this.exchange();
    renderings.set(id, (renderings.get(id) ?? 0) + 1);
    const parts = messages.flatMap((message) => message.parts);
    return parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
  }
}

@Component({
  selector: 'app-chat',
  imports: [Exchange],
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    {{ chat.status() }}:
    @for (exchange of chat.exchanges(); track exchange.id) {
      <app-exchange [exchange]="exchange" />
    }
    @for (call of chat.waiting(); track call.id) {
      <button (click)="chat.decide(call.id, { approve: true })">Run {{ call.name }}</button>
    }
  `,
})
class Chat {
  readonly chat = injectConversation({ perFrame: false });
}

/** A conversation under the name of an input. */
@Component({
  selector: 'app-stored',
  imports: [Exchange],
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    @for (exchange of chat.exchanges(); track exchange.id) {
      <app-exchange [exchange]="exchange" />
    }
  `,
})
class Stored {
  readonly name = input.required<string>();
  readonly chat = injectConversation({ key: this.name, perFrame: false });
}

afterEach(() => {
  localStorage.clear();
  vi.useRealTimers();
});

describe('injectConversation', () => {
  it('shows prompts and answers while they arrive', async () => {
    const { agent, say, end } = agentByHand();
    provide(agent);
    const fixture = await show(Chat);
    expect(textOf(fixture)).toBe('idle:');
    const { chat } = fixture.componentInstance;
    chat.send('How warm is it?');
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('sending: How warm is it?');
    expect(chat.isBusy()).toBe(true);
    say('5 ');
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('streaming: How warm is it? 5');
    say('degrees.');
    end();
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('idle: How warm is it? 5 degrees.');
    expect(chat.isBusy()).toBe(false);
  });

  it('gives a child with OnPush the same reference of an exchange that did not change', async () => {
    provide(createAgent({ model: scriptedModel(['One.', ['Two ', ...'words']]) }));
    const fixture = await show(Chat);
    const { chat } = fixture.componentInstance;
    chat.send('First');
    await fixture.whenStable();
    const [first] = chat.exchanges();
    const before = renderings.get(first?.id ?? '');
    expect(before).toBeGreaterThan(0);
    chat.send('Second');
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('idle: First One.Second Two words');
    expect(chat.exchanges()[0]).toBe(first);
    expect(renderings.get(first?.id ?? '')).toBe(before);
  });

  it('does not change the lists that an event leaves as they are', async () => {
    const { agent, say } = agentByHand();
    provide(agent);
    const { chat } = (await show(Chat)).componentInstance;
    chat.send('A question');
    const [waiting, queued, exchanges] = [chat.waiting(), chat.queued(), chat.exchanges()];
    say('An answer');
    expect(chat.exchanges()).not.toBe(exchanges);
    expect(chat.waiting()).toBe(waiting);
    expect(chat.queued()).toBe(queued);
  });

  it('shows a call of a sub-agent that waits, and continues after the decision', async () => {
    const remove = tool({
      name: 'remove',
      description: 'Removes a file.',
      parameters: z.object({ path: z.string() }),
      needsApproval: true,
      execute: ({ path }) => `removed ${path}`,
    });
    const inner = createAgent({
      model: scriptedModel([[toolCall('remove', { path: '/a' })], 'Removed.']),
      tools: [remove],
    });
    const ask = agentTool(inner, { name: 'ask', description: 'Asks another agent.' });
    const model = scriptedModel([[toolCall('ask', { prompt: 'Please.' })], 'All done.']);
    provide(createAgent({ model, tools: [ask] }));
    const fixture = await show(Chat);
    const { chat } = fixture.componentInstance;
    chat.send('Tidy up');
    await fixture.whenStable();
    expect(chat.status()).toBe('waiting');
    const outer = chat
      .exchanges()[0]
      ?.messages.at(-1)
      ?.parts.find((part) => part.type === 'toolCall');
    expect(outer?.nested?.messages.at(-1)?.parts).toMatchObject([{ name: 'remove', status: 'waiting' }]);
    (fixture.nativeElement as HTMLElement).querySelector('button')?.click();
    await fixture.whenStable();
    expect(textOf(fixture)).toContain('idle: Tidy up');
    expect(textOf(fixture)).toContain('All done.');
  });

  it('ends with its component: the request is aborted, and commands do nothing', async () => {
    const { agent, isOpen, say } = agentByHand();
    provide(agent);
    const fixture = await show(Chat);
    const { chat } = fixture.componentInstance;
    chat.send('A question');
    say('An ');
    expect(isOpen()).toBe(true);
    fixture.destroy();
    expect(isOpen()).toBe(false);
    chat.send('Another question');
    expect(isOpen()).toBe(false);
    expect(chat.exchanges()).toHaveLength(1);
  });

  it('lives as long as the service that has injected it', () => {
    const { agent, isOpen } = agentByHand();
    @Injectable({ providedIn: 'root' })
    class ChatService {
      readonly chat = injectConversation({ perFrame: false });
    }
    provide(agent);
    TestBed.inject(ChatService).chat.send('A question'); // before any effect has run
    expect(isOpen()).toBe(true);
    TestBed.resetTestingModule();
    expect(isOpen()).toBe(false);
  });

  it('stops, regenerates, edits and selects', async () => {
    provide(createAgent({ model: scriptedModel(['One.', 'Two.', 'Three.']) }));
    const fixture = await show(Chat);
    const { chat } = fixture.componentInstance;
    chat.send('First');
    chat.regenerate();
    const id = chat.exchanges()[0]?.id ?? '';
    expect(chat.exchanges()[0]?.versions).toHaveLength(2);
    chat.edit(id, 'Changed');
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('idle: Changed Three.');
    chat.select(id);
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('idle: First Two.');
    expect(chat.save().exchanges).toHaveLength(3);
  });

  it('stops a run, which keeps what it has', async () => {
    const { agent, isOpen, say } = agentByHand();
    provide(agent);
    const fixture = await show(Chat);
    const { chat } = fixture.componentInstance;
    chat.send('A question');
    say('Half');
    chat.stop();
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('stopped: A question Half');
    expect(isOpen()).toBe(false);
  });

  it('changes the view at most once per animation frame, and shows the end', () => {
    vi.useFakeTimers();
    const { agent, say, end } = agentByHand();
    provide(agent);
    const chat = TestBed.runInInjectionContext(() => injectConversation());
    const shown = () =>
      chat
        .exchanges()
        .at(-1)
        ?.messages.at(-1)
        ?.parts.map((part) => part.type === 'text' && part.text);
    const views = new Set<unknown>();
    chat.send('A long answer, please');
    vi.advanceTimersByTime(20);
    for (let frame = 0; frame < 5; frame++) {
      for (let token = 0; token < 100; token++) {
        say('x');
        views.add(chat.view());
      }
      vi.advanceTimersByTime(20);
    }
    views.add(chat.view());
    expect(views.size).toBeGreaterThan(3);
    expect(views.size).toBeLessThan(15);
    expect(shown()).toEqual(['x'.repeat(500)]);
    end();
    vi.advanceTimersByTime(20);
    expect(chat.status()).toBe('idle');
  });

  it('stores the conversation under its key, and shows another one for another key', async () => {
    provide(createAgent({ model: scriptedModel(['One.', 'Two.', 'Three.']) }));
    const fixture = await show(Stored, { name: 'a' });
    const { chat } = fixture.componentInstance;
    chat.send('First');
    fixture.componentRef.setInput('name', 'b');
    expect(chat.exchanges()).toEqual([]); // at once, without an effect
    chat.send('Second');
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('Second Two.');
    fixture.componentRef.setInput('name', 'a');
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('First One.');
    chat.send('Third');
    fixture.destroy();
    const again = await show(Stored, { name: 'a' });
    expect(textOf(again)).toBe('First One.Third Three.');
    expect(localStorage.getItem('b')).toContain('Second');
  });

  it('emits what is to be stored, of the conversation that is shown', async () => {
    provide(createAgent({ model: scriptedModel(['One.']) }));
    const fixture = await show(Stored, { name: 'x' });
    const { chat } = fixture.componentInstance;
    const sizes: number[] = [];
    chat.saved$.subscribe(({ exchanges }) => sizes.push(exchanges.length));
    chat.send('First');
    await fixture.whenStable();
    expect([sizes[0], sizes.at(-1)]).toEqual([0, 1]);
    fixture.componentRef.setInput('name', 'y');
    await fixture.whenStable();
    expect(sizes.at(-1)).toBe(0);
  });

  it('shows what another tab has stored, if the runs are at a server', async () => {
    const other = createAgent({ model: scriptedModel(['Written there.']) });
    const remote: ConversationAgent = { stream: () => NEVER, resume: () => NEVER, join: () => EMPTY };
    provide(remote);
    const fixture = await show(Stored, { name: 'a' });
    expect(textOf(fixture)).toBe('');
    const elsewhere = TestBed.runInInjectionContext(() => injectConversation({ agent: other, perFrame: false }));
    elsewhere.send('A question');
    localStorage.setItem('a', JSON.stringify(elsewhere.save()));
    window.dispatchEvent(new StorageEvent('storage', { key: 'b', storageArea: localStorage }));
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('');
    window.dispatchEvent(new StorageEvent('storage', { key: 'a', storageArea: localStorage }));
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('A question Written there.');
  });

  it.each(['a local agent', 'an agent of a service'])(
    'shows and stores nothing after a logout in another tab: %s',
    async (name) => {
      const declared = { name: 'locate', description: 'Where the user is.' };
      let isAborted = false;
      const execute = () => new Observable<string>(() => () => (isAborted = true));
      const agent = createAgent({ model: scriptedModel(() => [toolCall('locate')]), tools: [tool(declared)] });
      provide({
        stream: (input, options) => agent.stream(input, options),
        resume: () => NEVER,
        ...(name === 'a local agent' ? {} : { join: () => NEVER }),
      });
      const tools = pageTools([tool({ ...declared, execute })]);
      const options = { key: 'a', tools, perFrame: false };
      const chat = TestBed.runInInjectionContext(() => injectConversation(options));
      chat.send('SECRET');
      await expect.poll(() => chat.status()).toBe('runningTools');
      localStorage.removeItem('a');
      window.dispatchEvent(new StorageEvent('storage', { key: 'a', storageArea: localStorage }));
      expect(chat.exchanges()).toEqual([]);
      expect(isAborted).toBe(true);
      expect(localStorage.getItem('a')).toBeNull();
    },
  );

  it('continues without a storage that is full, and says so', () => {
    provide(createAgent({ model: scriptedModel(['One.']) }));
    const full = new Error('QuotaExceededError');
    const storage = {
      getItem: () => null,
      removeItem: () => undefined,
      setItem() {
        throw full;
      },
    };
    const chat = TestBed.runInInjectionContext(() => injectConversation({ key: 'a', storage, perFrame: false }));
    expect(chat.storageError()).toBeUndefined();
    chat.send('First');
    expect(chat.storageError()).toBe(full);
    expect(chat.status()).toBe('idle');
    expect(chat.exchanges()).toHaveLength(1);
  });

  it('stores a conversation for each user, none without one, and removes it with clear', async () => {
    const user = signal<string | undefined>('ann');
    const agent = createAgent({ model: scriptedModel(() => 'An answer.') });
    TestBed.configureTestingModule({ providers: [provideAgent(agent, { user })] });
    const chat = TestBed.runInInjectionContext(() => injectConversation({ key: 'chat', perFrame: false }));
    chat.send('Of Ann');
    expect(chat.exchanges()).toHaveLength(1);
    user.set('bob');
    expect(chat.exchanges()).toEqual([]);
    chat.send('Of Bob');
    user.set(undefined);
    expect(chat.exchanges()).toEqual([]);
    chat.send('Of nobody');
    expect(Object.keys(localStorage).sort()).toEqual(['ann chat', 'bob chat']);
    user.set('ann');
    expect(chat.exchanges()).toHaveLength(1);
    chat.clear();
    expect(chat.exchanges()).toEqual([]);
    expect(Object.keys(localStorage)).toEqual(['bob chat']);
  });

  it.each([
    ['a b', 'c', 'a', 'b c'],
    ['a', 'b c', 'a b', 'c'],
    ['a%20b', 'c', 'a b', 'c'],
  ])('does not show the conversation of user %s with the key %s to user %s with the key %s', (ann, of, bob, key) => {
    const user = signal<string | undefined>(ann);
    const agent = createAgent({ model: scriptedModel(() => 'An answer.') });
    TestBed.configureTestingModule({ providers: [provideAgent(agent, { user })] });
    const inject = (name: string) =>
      TestBed.runInInjectionContext(() => injectConversation({ key: name, perFrame: false }));
    const chat = inject(of);
    chat.send('Of Ann');
    user.set(bob);
    expect(inject(key).exchanges()).toEqual([]);
  });

  it('says what to do if no agent is provided', () => {
    provide();
    expect(() => TestBed.runInInjectionContext(() => injectConversation())).toThrow(/provideAgent/);
  });

  it('asks the agent that the nearest provider creates, in its injection context', () => {
    @Injectable({ providedIn: 'root' })
    class Session {
      readonly name = 'Ann';
    }
    provide();
    TestBed.configureTestingModule({
      providers: [
        provideAgent(() => {
          const { name } = inject(Session);
          return { stream: () => of({ type: 'text', text: `For ${name}` }), resume: () => EMPTY };
        }),
      ],
    });
    const chat = TestBed.runInInjectionContext(() => injectConversation({ perFrame: false }));
    chat.send('Who asks?');
    expect(JSON.stringify(chat.view())).toContain('For Ann');
  });
});
