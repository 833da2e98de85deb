import { provideZoneChangeDetection, provideZonelessChangeDetection } from '@angular/core';
import type { Type } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import type { ComponentFixture } from '@angular/core/testing';
import { defer, NEVER, Subject } from 'rxjs';
import { createAgent } from 'rivulet';
import type { Chunk } from 'rivulet';
import { provideAgent } from 'rivulet/angular';
import { scriptedModel } from 'rivulet/testing';
import type { ConversationAgent, RemoteChats } from 'rivulet/chat';

/** Whether this run of the specs has loaded zone.js: the configuration `zone` of angular.json. */
export const hasZone = 'Zone' in globalThis;

/** Provides an agent, and the change detection that this run of the specs tests. */
export function provide(agent?: ConversationAgent): void {
  const detection = hasZone ? provideZoneChangeDetection() : provideZonelessChangeDetection();
  TestBed.configureTestingModule({ providers: [detection, ...(agent ? [provideAgent(agent)] : [])] });
}

/** Creates a component, with its inputs, and lets Angular update it, as in an application. */
export async function show<T>(component: Type<T>, inputs: Record<string, unknown> = {}): Promise<ComponentFixture<T>> {
  const fixture = TestBed.createComponent(component);
  for (const [name, value] of Object.entries(inputs)) fixture.componentRef.setInput(name, value);
  fixture.autoDetectChanges();
  await fixture.whenStable();
  return fixture;
}

/** The text of a component, white space as one space. */
export const textOf = ({ nativeElement }: ComponentFixture<unknown>): string =>
  ((nativeElement as HTMLElement).textContent ?? '').replace(/\s+/g, ' ').trim();

/** An agent whose model says what the spec says, and whether its request is open. */
export function agentByHand() {
  let chunks = new Subject<Chunk>();
  const agent = createAgent({ model: scriptedModel(() => (chunks = new Subject())) });
  return {
    agent,
    isOpen: () => chunks.observed,
    say: (text: string) => chunks.next({ type: 'text', text }),
    end() {
      chunks.next({ type: 'finish', reason: 'stop' });
      chunks.complete();
    },
  };
}

/** Requests that the spec answers: the last one of each name. */
export function heldService() {
  const requests = new Map<string, Subject<unknown>>();
  const ask = (name: string) => () =>
    defer(() => {
      const answer = new Subject<unknown>();
      requests.set(name, answer);
      return answer;
    });
  const names = ['list', 'open', 'rename', 'delete', 'restore', 'keep'];
  const chats = Object.fromEntries(names.map((name) => [name, ask(name)])) as unknown as RemoteChats;
  const agent = { stream: () => NEVER, resume: ask('resume'), waiting: ask('waiting') } as unknown as ConversationAgent;
  const asked = async (name: string) => {
    await expect.poll(() => requests.get(name)?.observed, { timeout: 10_000 }).toBe(true);
    return requests.get(name)!;
  };
  return { chats, agent, asked, isAsked: (name: string) => requests.get(name)?.observed === true };
}

/** A storage of a browser, and the texts in it. */
export function memoryStorage() {
  const texts = new Map<string, string>();
  return {
    texts,
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
    removeItem: (key: string) => void texts.delete(key),
  };
}
