import { ChangeDetectionStrategy, Component } from '@angular/core';
import { delay, map } from 'rxjs';
import { askTool, createAgent, tool } from 'rivulet';
import { injectWaiting } from 'rivulet/angular';
import { conversation, remoteAgent } from 'rivulet/chat';
import { agentHandler } from 'rivulet/service';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { provide, show } from './setup';

/** A service whose agent asks for a name, or needs an approval. */
function createService() {
  const name = askTool({
    name: 'name',
    description: 'Asks for the name.',
    execute: (_, { ask }) =>
      ask({ message: 'What is your name?', schema: { type: 'string', minLength: 2 } as const }).pipe(
        map((given) => `Hello, ${given}.`),
      ),
  });
  const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
  const model = scriptedModel(({ messages }) =>
    messages.length > 1 ? 'Done.' : [toolCall(JSON.stringify(messages).includes('Pay') ? 'pay' : 'name', {}, 'c1')],
  );
  const handler = agentHandler<string>(createAgent({ model, tools: [name, pay] }), {
    context: (request) => request.headers.get('authorization') ?? '',
    owner: (user) => user,
  });
  return (user: string) =>
    remoteAgent('http://service.test/api/chat', {
      headers: { authorization: user },
      fetch: (address, init) => handler(new Request(address, init)),
      retryDelay: 1,
    });
}

let agent = createService()('ann');

@Component({
  selector: 'app-waiting',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `{{ waiting.count() }}`,
})
class Waiting {
  readonly waiting = injectWaiting({ agent, refresh: 30 });
}

@Component({ selector: 'app-rarely', changeDetection: ChangeDetectionStrategy.OnPush, template: '' })
class Rarely {
  readonly waiting = injectWaiting({ agent, refresh: 3_600_000 });
}
const patient = { timeout: 10_000 };
vi.setConfig({ testTimeout: 30_000 });

describe('injectWaiting', () => {
  it('has the questions and calls of all conversations of the user, and answers them', async () => {
    const agentOf = createService();
    agent = agentOf('ann');
    provide();
    for (const [user, prompt] of [
      ['ann', 'Hello!'],
      ['ann', 'Pay.'],
      ['bob', 'Hello!'],
    ] as const) {
      const chat = conversation(agentOf(user));
      chat.view$.subscribe();
      chat.send(prompt);
    }
    const fixture = await show(Waiting);
    const { waiting } = fixture.componentInstance;
    await vi.waitFor(() => expect(waiting.count()).toBe(2), patient);
    await vi.waitFor(() => expect(fixture.nativeElement.textContent).toBe('2'), patient);
    const find = (title: string) => waiting.runs().find((run) => run.title === title);
    expect(find('Hello!')?.waiting).toMatchObject([{ id: 'c1/1', question: { message: 'What is your name?' } }]);
    waiting.decide(find('Pay.')?.id ?? '', 'c1', { approve: true });
    await vi.waitFor(() => expect(waiting.runs().map(({ title }) => title)).toEqual(['Hello!']), patient);
    waiting.answer(find('Hello!')?.id ?? '', 'c1/1', 7);
    await vi.waitFor(() => expect(find('Hello!')?.waiting[0]?.question?.problem).toBeTruthy(), patient);
    waiting.answer(find('Hello!')?.id ?? '', 'c1/1', 'Ann');
    await vi.waitFor(() => expect(waiting.count()).toBe(0), patient);
    expect(waiting.error()).toBeUndefined();
    fixture.destroy();
  });

  it('reads the list again when the page says that something has changed', async () => {
    const works = createService()('ann');
    let reads = 0;
    agent = {
      ...works,
      waiting: () => {
        reads += 1;
        return works.waiting!();
      },
    };
    provide();
    const { waiting } = (await show(Rarely)).componentInstance;
    await vi.waitFor(() => expect(reads).toBe(1), patient);
    const chat = conversation(works);
    chat.view$.subscribe();
    chat.send('Hello!');
    await vi.waitFor(() => expect(chat.view.waiting).toHaveLength(1), patient);
    expect([reads, waiting.count()]).toEqual([1, 0]);
    waiting.refresh();
    waiting.refresh();
    await vi.waitFor(() => expect(waiting.count()).toBe(1), patient);
    expect(reads).toBe(2);
  });

  it('shows a list that takes longer than its refresh', async () => {
    const works = createService()('ann');
    agent = { ...works, waiting: () => works.waiting!().pipe(delay(400)) };
    provide();
    const { waiting } = (await show(Waiting)).componentInstance;
    const chat = conversation(works);
    chat.view$.subscribe();
    chat.send('Hello!');
    await vi.waitFor(() => expect(waiting.count()).toBe(1), patient);
  });

  it('says why the list could not be read, and reads it again', async () => {
    let isBroken = true;
    const works = createService()('ann');
    agent = {
      ...works,
      waiting: () => {
        if (isBroken) throw new Error('No list.');
        return works.waiting!();
      },
    };
    provide();
    const { waiting } = (await show(Waiting)).componentInstance;
    await vi.waitFor(() => expect(String(waiting.error())).toContain('No list.'), patient);
    isBroken = false;
    await vi.waitFor(() => expect(waiting.error()).toBeUndefined(), patient);
  });
});
