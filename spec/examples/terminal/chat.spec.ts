import { describe, expect, it } from '@jest/globals';
import { concat, filter, firstValueFrom, from, map, NEVER, of, Subject } from 'rxjs';
import type { OperatorFunction } from 'rxjs';
import { createAgent, messageText, tool } from 'rivulet';
import type { RunEvent } from 'rivulet';
import { scriptedModel, toolCall } from 'rivulet/testing';
import type { ScriptedTurn } from 'rivulet/testing';
import { askUser, chat } from '../../../examples/terminal/chat.js';

/** Text as it streams, and a full stop where the run ended with its result. */
const run: OperatorFunction<RunEvent, string> = (events) =>
  events.pipe(
    filter((event) => event.type === 'text' || event.type === 'result'),
    map((event) => (event.type === 'text' ? event.text : '.')),
  );

/**
 * A chat with a scripted model: the text that was written, how often a line was asked for, and the histories that were
 * sent.
 */
function chatWith(script: readonly ScriptedTurn[]) {
  const [lines, interrupts, model] = [new Subject<string>(), new Subject<void>(), scriptedModel(script)];
  const seen = { text: '', asked: 0, over: false };
  const failure = (error: unknown) => `failed: ${(error as Error).message}`;
  const written = chat(createAgent({ model }), { lines, interrupts, ask: () => (seen.asked += 1) }, { run, failure });
  written.subscribe({ next: (text) => (seen.text += text), complete: () => (seen.over = true) });
  const histories = () =>
    model.requests.map(({ messages }) => messages.map((message) => `${message.role}: ${messageText(message)}`));
  return { lines, interrupts, seen, histories };
}

describe('chat', () => {
  it('chat asks for a line, answers it, and keeps the history', () => {
    const { lines, seen, histories } = chatWith(['Hello', 'Again']);
    expect(seen).toEqual({ text: '', asked: 1, over: false });
    lines.next(' Hi ');
    lines.next('Hi again');
    expect(seen).toEqual({ text: 'Hello.\nAgain.\n', asked: 3, over: false });
    expect(histories()).toEqual([['user: Hi'], ['user: Hi', 'model: Hello', 'user: Hi again']]);
  });

  it('chat asks again after an empty line, and sends no request', () => {
    const { lines, seen, histories } = chatWith([]);
    lines.next('  ');
    expect(seen).toEqual({ text: '', asked: 2, over: false });
    expect(histories()).toEqual([]);
  });

  it('chat ends at /exit, and when the lines complete', () => {
    const left = chatWith([]);
    left.lines.next('/exit');
    expect(left.seen.over).toBe(true);
    const ended = chatWith([]);
    ended.lines.complete();
    expect(ended.seen.over).toBe(true);
  });

  it('chat shows the failure of a run and continues', () => {
    const { lines, seen } = chatWith([['Half', { error: new Error('reset') }], 'Whole']);
    lines.next('one');
    lines.next('two');
    expect(seen).toEqual({ text: 'Halffailed: reset\nWhole.\n', asked: 3, over: false });
  });

  it('chat ends the run at the first Ctrl-C, and itself at a second; the question stays in the history', () => {
    const { lines, interrupts, seen, histories } = chatWith([NEVER, 'Yes', NEVER]);
    lines.next('one');
    interrupts.next();
    expect(seen).toEqual({ text: '.\n', asked: 2, over: false });
    lines.next('two');
    expect(histories().at(-1)).toEqual(['user: one', 'user: two']);
    lines.next('three');
    interrupts.next();
    expect(seen.over).toBe(false);
    interrupts.next();
    expect(seen.over).toBe(true);
    expect([lines.observed, interrupts.observed]).toEqual([false, false]);
  });

  it('chat keeps the partial answer of a run that was stopped', () => {
    const { lines, interrupts, seen, histories } = chatWith([
      concat(of({ type: 'text' as const, text: 'Half' }), NEVER),
      'Whole',
    ]);
    lines.next('one');
    interrupts.next();
    lines.next('two');
    expect(histories().at(-1)).toEqual(['user: one', 'model: Half', 'user: two']);
    expect(seen.text).toBe('Half.\nWhole.\n');
  });

  it('chat answers lines that were entered during a run in order; Ctrl-C ends only the current run', () => {
    const { lines, interrupts, seen, histories } = chatWith([NEVER, NEVER, 'Third']);
    for (const line of ['one', 'two', 'three']) lines.next(line);
    expect(histories()).toHaveLength(1);
    interrupts.next();
    expect(histories()).toHaveLength(2);
    interrupts.next();
    expect(seen).toEqual({ text: '.\n.\nThird.\n', asked: 4, over: false });
  });

  it('chat completes the current run when the lines complete', () => {
    const answer = new Subject<{ type: 'text'; text: string } | { type: 'finish'; reason: 'stop' }>();
    const { lines, seen } = chatWith([answer]);
    lines.next('one');
    lines.complete();
    expect(seen.over).toBe(false);
    answer.next({ type: 'text', text: 'Bye' });
    answer.next({ type: 'finish', reason: 'stop' });
    answer.complete();
    expect(seen).toMatchObject({ text: 'Bye.\n', over: true });
  });
});

describe('askUser', () => {
  const long = 'a harmless note '.repeat(20);

  it.each<[string, object, string]>([
    ['each argument in its line', { path: 'a.txt', text: 'x' }, '{\n  "path": "a.txt",\n  "text": "x"\n}'],
    ['a long text to its end', { text: `${long}; rm -r x` }, `{\n  "text": "${long}; rm -r x"\n}`],
    ['a line break as its code', { text: 'a"\n  "path": "b' }, String.raw`{~  "text": "a\"\n  \"path\": \"b"~}`],
    ['control characters as codes', { text: '\u001b[2J\r\t\u009b' }, String.raw`{~  "text": "\u001b[2J\r\t\u{9b}"~}`],
    [
      'invisible characters as codes',
      { a: '\u200b\u202e\u3164\u{e0041}' },
      String.raw`{~  "a": "\u{200b}\u{202e}\u{3164}\u{e0041}"~}`,
    ],
  ])('askUser shows %s', (_, args, shown) => {
    const questions: string[] = [];
    const ask = (question: string) => {
      questions.push(question);
      return of('n');
    };
    const model = scriptedModel([[toolCall('write', { ...args })], 'Done.']);
    const write = tool({
      name: 'write',
      description: 'Writes.',
      parameters: { type: 'object' },
      needsApproval: true,
      execute: () => 1,
    });
    createAgent({ model, tools: [write], approve: askUser(ask) })
      .run('Write.')
      .subscribe();
    expect(questions).toEqual([`? write ${shown.replaceAll('~', '\n')}\nAllow it? y or n`]);
  });

  it.each([
    ['y', true],
    [' YES ', true],
    ['n', false],
    ['', false],
    ['yeah', false],
  ])('askUser obeys %j', async (line, approve) => {
    const approveCall = askUser(() => of(line));
    const request = { id: '1', name: 'write', arguments: {}, messages: [], context: undefined };
    expect(await firstValueFrom(from(approveCall(request)))).toMatchObject({ approve });
  });
});
