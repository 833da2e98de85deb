import { ChangeDetectionStrategy, Component, input, NgZone, signal } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { anthropic, createAgent, typed } from 'rivulet';
import { injectRun } from 'rivulet/angular';
import { scriptedModel } from 'rivulet/testing';
import * as z from 'zod';
import { agentByHand, provide, show, textOf } from './setup';

@Component({
  selector: 'app-summary',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `{{ summary.status() }}: {{ summary.text() }}`,
})
class Summary {
  readonly about = input.required<string>();
  readonly summary = injectRun(() => `Summarise: ${this.about()}`, { perFrame: false });
}

const run = <T>(create: () => T): T => TestBed.runInInjectionContext(create);

describe('injectRun', () => {
  it('starts a run for each input, and leaves the one before it', async () => {
    const { agent, isOpen, say, end } = agentByHand();
    provide(agent);
    const fixture = await show(Summary, { about: 'rain' });
    const { summary } = fixture.componentInstance;
    say('It is ');
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('streaming: It is');
    expect(summary.isLoading()).toBe(true);
    fixture.componentRef.setInput('about', 'snow');
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('sending:');
    say('White.');
    end();
    await fixture.whenStable();
    expect(textOf(fixture)).toBe('idle: White.');
    expect(summary.value().messages[0]?.parts).toEqual([{ type: 'text', text: 'Summarise: snow' }]);
    expect(summary.result()?.finishReason).toBe('stop');
    expect(isOpen()).toBe(false);
  });

  it('makes no tick of the application for a read of the network', async () => {
    let body: ReadableStreamDefaultController<Uint8Array> | undefined;
    const response = () =>
      new Response(new ReadableStream<Uint8Array>({ start: (controller) => void (body = controller) }), {
        headers: { 'content-type': 'text/event-stream' },
      });
    const model = anthropic('m', {
      apiKey: 'k',
      baseUrl: 'http://localhost/v1',
      fetch: () => Promise.resolve(response()),
    });
    provide(createAgent({ model }));
    const fixture = await show(Summary, { about: 'rain' });
    let ticks = 0;
    const counting = TestBed.inject(NgZone).onMicrotaskEmpty.subscribe(() => ticks++);
    for (let read = 0; read < 20; read++) {
      await new Promise((resolve) => setTimeout(resolve));
      body?.enqueue(new TextEncoder().encode(': keep-alive\n\n'));
    }
    counting.unsubscribe();
    expect(ticks).toBe(0);
    fixture.destroy();
  });

  it('ends with its component', async () => {
    const { agent, isOpen } = agentByHand();
    provide(agent);
    const fixture = await show(Summary, { about: 'rain' });
    expect(isOpen()).toBe(true);
    fixture.destroy();
    expect(isOpen()).toBe(false);
  });

  it('starts no run without an input, and clears the signals', () => {
    const model = scriptedModel(['One.']);
    provide(createAgent({ model }));
    const question = signal<string | undefined>(undefined);
    const answer = run(() => injectRun(question, { perFrame: false }));
    TestBed.tick();
    expect([answer.status(), answer.text(), model.requests.length]).toEqual(['idle', '', 0]);
    question.set('A question');
    TestBed.tick();
    expect([answer.status(), answer.text(), model.requests.length]).toEqual(['idle', 'One.', 1]);
    question.set(undefined);
    TestBed.tick();
    expect([answer.value().messages, answer.result()]).toEqual([[], undefined]);
  });

  it('has the error of a run, and reloads', () => {
    const failure = new Error('Out of words.');
    provide(createAgent({ model: scriptedModel([['Half', { error: failure }], 'Complete.']) }));
    const answer = run(() => injectRun(() => 'A question', { perFrame: false }));
    TestBed.tick();
    expect(answer.status()).toBe('failed');
    expect(answer.error()).toBe(failure);
    expect([answer.text(), answer.result()]).toEqual(['Half', undefined]);
    answer.reload();
    TestBed.tick();
    expect(answer.error()).toBeUndefined();
    expect([answer.status(), answer.text(), answer.result()?.answer]).toEqual(['idle', 'Complete.', 'Complete.']);
  });

  it('stops a run, whose result has the text so far', () => {
    const { agent, isOpen, say } = agentByHand();
    provide(agent);
    const answer = run(() => injectRun(() => 'A question', { perFrame: false }));
    TestBed.tick();
    say('Half');
    answer.stop();
    expect([answer.status(), answer.result()?.finishReason, answer.text()]).toEqual(['stopped', 'stopped', 'Half']);
    expect(isOpen()).toBe(false);
  });

  it('has the typed output of its agent', () => {
    provide();
    const City = z.object({ name: z.string() });
    const agent = createAgent({ model: scriptedModel(['{"name":"Oslo"}']), output: typed(City) });
    const answer = run(() => injectRun(() => 'The capital of Norway?', { agent, perFrame: false }));
    TestBed.tick();
    const name: string | undefined = answer.result()?.output.name;
    expect(name).toBe('Oslo');
  });
});
