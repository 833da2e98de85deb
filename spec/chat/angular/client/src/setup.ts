import { provideZoneChangeDetection, provideZonelessChangeDetection } from '@angular/core';
import type { Type } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import type { ComponentFixture } from '@angular/core/testing';
import { Subject } from 'rxjs';
import { createAgent } from 'rivulet';
import type { Chunk } from 'rivulet';
import { provideAgent } from 'rivulet/angular';
import { scriptedModel } from 'rivulet/testing';
import type { ConversationAgent } from 'rivulet/chat';

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
