import { ChangeDetectionStrategy, Component } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { injectChats, provideAgent } from 'rivulet/angular';
import type { InjectedChats } from 'rivulet/angular';
import { conversation } from 'rivulet/chat';
import { agentByHand, heldService, memoryStorage, show } from './setup';

const chatWith = (...prompts: readonly string[]) => {
  const chat = conversation(agentByHand().agent, { whenBusy: 'concat' });
  chat.view$.subscribe();
  for (const prompt of prompts) chat.send(prompt);
  return chat.save();
};
const entry = (id: string, version: number) => ({ id, title: id, updated: version, version });
const opened = (id: string, version: number) => ({ ...entry(id, version), saved: chatWith(`${id} ${version}`) });

let service = heldService();

@Component({ selector: 'app-openings', changeDetection: ChangeDetectionStrategy.OnPush, template: '' })
class Page {
  readonly chats = injectChats({
    chats: service.chats,
    storage: memoryStorage(),
    refresh: 3_600_000,
    perFrame: false,
  });
}

const answer = async (name: string, value?: unknown) => {
  const request = await service.asked(name);
  if (value !== undefined) request.next(value);
  request.complete();
};

async function openPage(): Promise<InjectedChats> {
  service = heldService();
  TestBed.configureTestingModule({ providers: [provideAgent(service.agent)] });
  const { chats } = (await show(Page)).componentInstance;
  await answer('list', { chats: [entry('alpha', 2), entry('beta', 2)] });
  return chats;
}

/** What ends with a request for the chat alpha, whose answer shows it. */
const openings: Record<string, (chats: InjectedChats) => unknown> = {
  'a chat that is opened': (chats) => chats.open('alpha'),
  async 'the shown chat, which another device has continued'(chats) {
    chats.open('alpha');
    await answer('open', opened('alpha', 2));
    await answer('list', { chats: [entry('alpha', 3), entry('beta', 2)] });
  },
  async 'a chat that is restored'(chats) {
    chats.delete('alpha');
    await answer('open', opened('alpha', 2));
    await answer('delete');
    chats.restore('alpha');
    await answer('restore', opened('alpha', 3));
  },
};

const meanwhile: Record<string, (chats: InjectedChats) => unknown> = {
  'begins a new chat': (chats) => chats.open(),
  async 'opens another chat'(chats) {
    chats.open('beta');
    await answer('open', opened('beta', 2));
    expect(chats.id()).toBe('beta');
  },
  'opens another chat, which is read too': (chats) => chats.open('beta'),
  'sends a prompt in the shown chat': (chats) => chats.current.send('Hi'),
  async 'deletes the chat'(chats) {
    chats.delete('alpha');
    if (service.isAsked('open')) await answer('open', opened('alpha', 2));
    await answer('delete');
    expect(chats.id()).not.toBe('alpha');
  },
};

describe('a chat that is read while the person does something else', () => {
  afterEach(() => TestBed.resetTestingModule());

  const shownOf = ({ id, current }: InjectedChats) => [
    id(),
    ...current.exchanges().flatMap(({ messages }) => messages[0]?.parts.map((part) => 'text' in part && part.text)),
  ];

  it.each(Object.keys(openings))('is shown if the person does nothing: %s', async (opening) => {
    const chats = await openPage();
    await openings[opening]!(chats);
    await answer('open', opened('alpha', 3));
    expect(shownOf(chats)).toContain('alpha');
    expect(shownOf(chats)).toContain('alpha 3');
  });

  const rows = Object.keys(openings).flatMap((opening) => Object.keys(meanwhile).map((act) => [opening, act] as const));
  it.each(rows)('does not replace what is shown then: %s; the person %s', async (opening, act) => {
    const chats = await openPage();
    await openings[opening]!(chats);
    const late = await service.asked('open');
    await meanwhile[act]!(chats);
    expect(late.observed).toBe(opening === 'a chat that is restored'); // that is done nevertheless
    const before = shownOf(chats);
    late.next(opened('alpha', 3));
    late.complete();
    await TestBed.tick();
    expect(shownOf(chats)).toEqual(before);
  });

  it('has the last one of two chats that are read', async () => {
    const chats = await openPage();
    chats.open('alpha');
    const alpha = await service.asked('open');
    chats.open('beta');
    await answer('open', opened('beta', 2));
    alpha.next(opened('alpha', 2));
    expect(chats.id()).toBe('beta');
  });
});
