import { describe, expect, it } from '@jest/globals';
import picocolors from 'picocolors';
import { NEVER, concat, from, of, takeUntil, throwError, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { modelMessage, userMessage } from 'rivulet';
import type { RunEvent } from 'rivulet';
import { stripControlCharacters, oneLine } from '../../../examples/terminal/text.js';
import { render } from '../../../examples/terminal/view.js';
import type { ViewOptions } from '../../../examples/terminal/view.js';

const plain: ViewOptions = { colors: picocolors.createColors(false), live: false, columns: () => 60 };

/** Everything that is shown of a synchronous run, and the error that it ended with. */
function shown(run: Observable<RunEvent>, options: ViewOptions = plain): { text: string; error?: unknown } {
  const seen: { text: string; error?: unknown } = { text: '' };
  run
    .pipe(render(options))
    .subscribe({ next: (text) => (seen.text += text), error: (error: unknown) => (seen.error = error) });
  return seen;
}

const call: RunEvent = { type: 'toolCall', id: '1', name: 'weather', arguments: { city: 'Oslo' } };
const results: RunEvent = {
  type: 'message',
  message: userMessage([{ type: 'toolResult', id: '1', name: 'weather', result: -3 }]),
};
const result = (rest: object = {}): RunEvent => ({
  type: 'result',
  result: {
    text: '',
    answer: '',
    thinking: '',
    output: undefined,
    messages: [],
    finishReason: 'stop',
    usage: { input: 1234, output: 56 },
    turns: 2,
    ...rest,
  },
});

const run: readonly RunEvent[] = [
  { type: 'thinking', text: 'The table ' },
  { type: 'thinking', text: 'knows.' },
  { type: 'text', text: 'I will ' },
  { type: 'text', text: 'look.' },
  call,
  { type: 'message', message: modelMessage('I will look.') },
  { type: 'toolProgress', id: '1', name: 'weather', value: 'asking' },
  { type: 'toolResult', id: '1', name: 'weather', result: -3 },
  results,
  { type: 'turn', turn: 1, finishReason: 'toolCalls' },
  { type: 'text', text: '\nIt is -3 °C.' },
  { type: 'message', message: modelMessage('It is -3 °C.') },
  { type: 'turn', turn: 2, finishReason: 'stop' },
  result(),
];

describe('render, into a pipe', () => {
  it('render writes lines: thinking, text, each call with its arguments, progress and result, and the usage', () => {
    expect(shown(from(run)).text).toBe(
      [
        'thinking: The table knows.',
        'I will look.',
        '→ weather {"city":"Oslo"}',
        '  weather Oslo: asking',
        '✓ weather Oslo: -3',
        '',
        'It is -3 °C.',
        '[2 turns, 1,234 tokens in, 56 tokens out]',
        '',
      ].join('\n'),
    );
  });

  it('render emits each delta at once, and nothing for an empty one', () => {
    const texts: string[] = [];
    of<RunEvent[]>({ type: 'text', text: 'a' }, { type: 'text', text: '' }, { type: 'text', text: 'b' }, result())
      .pipe(render(plain), toArray())
      .subscribe((all) => texts.push(...all));
    expect(texts).toEqual(['a', 'b', '\n[2 turns, 1,234 tokens in, 56 tokens out]\n']);
  });

  it('render marks the error of a tool, and shortens it to one line', () => {
    const long = 'There is no such city.\nKnown are: ' + 'Oslo, '.repeat(30);
    const { text } = shown(
      of<RunEvent[]>(call, { type: 'toolResult', id: '1', name: 'weather', error: long }, result()),
    );
    expect(text).toContain('\n✗ weather Oslo: There is no such city. Known are: Oslo, Osl…\n');
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it('render shows why a run ended early, and which counts are unknown', () => {
    expect(shown(of(result({ finishReason: 'length', usage: { output: 9, reasoning: 7 }, turns: 1 }))).text).toBe(
      'ended early: length\n[1 turn, unknown tokens in, 9 tokens out (7 thinking)]\n',
    );
  });

  it('render announces a retry, and names the model that answers when it changes', () => {
    const answeredBy = (name: string): RunEvent => ({
      type: 'metadata',
      metadata: { answeredBy: { provider: 'p', name } },
    });
    const retry: RunEvent = { type: 'retry', attempt: 1, delay: 1500, error: { message: 'HTTP \u001b[31m503' } };
    const { text } = shown(of(retry, answeredBy('a'), answeredBy('a'), answeredBy('b')));
    expect(text).toBe('retrying in 2 s: HTTP [31m503\nanswered by p a\nanswered by p b\nstopped\n');
  });

  it('render ends the current line and shows "stopped" for a run that takeUntil completed', () => {
    const left = concat(of<RunEvent>({ type: 'text', text: 'It is' }), NEVER);
    expect(shown(left.pipe(takeUntil(of(1)))).text).toBe('stopped\n');
    expect(shown(of<RunEvent>({ type: 'text', text: 'It is' })).text).toBe('It is\nstopped\n');
  });

  it('render ends the current line before it passes on an error', () => {
    const error = new Error('reset');
    const failed = concat(
      of<RunEvent>({ type: 'text', text: 'It is' }),
      throwError(() => error),
    );
    expect(shown(failed)).toEqual({ text: 'It is\n', error });
  });

  it('render shows that a retracted answer starts over', () => {
    const { text } = shown(
      of<RunEvent[]>({ type: 'text', text: 'Wro' }, { type: 'retract' }, { type: 'text', text: 'Right' }, result()),
    );
    expect(text).toMatch(/^Wro\n\(the answer starts over\)\nRight\n\[/);
  });

  it('render removes the control and direction characters of a model or a tool', () => {
    const evil = '\u001b[2J\u009b31mred\r\u0007\u0085\u061c\u200e\u200f\u202e\u2066\u2069\u2028\u2029$&$`';
    const { text } = shown(
      of<RunEvent[]>(
        { type: 'thinking', text: evil },
        { type: 'text', text: evil },
        { ...call, name: evil, arguments: { [evil]: evil } } as RunEvent,
        { type: 'toolProgress', id: '1', name: 'x', value: evil },
        { type: 'toolResult', id: '1', name: 'x', result: evil },
        { type: 'toolResult', id: '2', name: evil, error: evil },
        result(),
      ),
    );
    expect(text).toContain('red');
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u);
  });

  it('render shows the invisible characters of a call', () => {
    const hidden = { ...call, arguments: { path: 'a\u{e0041}\u3164\u200b\u202e' } } as RunEvent;
    const { text } = shown(of<RunEvent[]>(hidden, result()));
    expect(text).toContain(String.raw`{"path":"a\u{e0041}\u{3164}\u{200b}\u{202e}"}`);
  });

  it('render returns an Observable that can be subscribed twice', () => {
    const twice = from(run).pipe(render(plain), toArray());
    const seen: string[] = [];
    twice.subscribe((texts) => seen.push(texts.join('')));
    twice.subscribe((texts) => seen.push(texts.join('')));
    expect(seen[1]).toBe(seen[0]);
    expect(seen).toHaveLength(2);
  });
});

describe('render, on a terminal', () => {
  const clear = '\r\u001b[2K';
  const live: ViewOptions = { ...plain, live: true, columns: () => 30 };
  const virtually: TestScheduler['run'] = (test) =>
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test);

  it('render redraws the status line, and clears it before a text', () => {
    virtually(({ cold, expectObservable, expectSubscriptions }) => {
      const events = cold<RunEvent>('        100ms a 99ms (r|)', { a: { type: 'text', text: 'Hi' }, r: result() });
      expectObservable(events.pipe(render(live))).toBe('w 79ms x 19ms a 99ms (r|)', {
        w: `${clear}⠋ waiting for the model`,
        x: `${clear}⠙ waiting for the model`,
        a: `${clear}Hi`,
        r: '\n[2 turns, 1,234 tokens in, 56 tokens out]\n',
      });
      expectSubscriptions(events.subscriptions).toBe('^ 199ms !');
    });
  });

  it('render shows a call as waiting until the tool starts', () => {
    const started: RunEvent = { type: 'toolStart', id: '1', name: 'weather', arguments: { city: 'Oslo' } };
    const left = throwError(() => new Error('left'));
    const statusAfter = (...events: readonly RunEvent[]) =>
      shown(concat(from(events), left), live)
        .text.split(clear)
        .at(-2)
        ?.slice(2);
    expect(statusAfter(call)).toBe('weather Oslo: waiting');
    expect(statusAfter(call, started)).toBe('weather Oslo');
  });

  it.each([
    [60, 'weather Oslo · weather 東京: asking the station'],
    [30, 'weather Oslo · weather 東…'],
  ])('render shows the progress of all pending calls in the status line, cut to %d columns', (columns, status) => {
    const other: RunEvent = { type: 'toolCall', id: '2', name: 'weather', arguments: { city: '東京' } };
    const started: RunEvent = { type: 'toolStart', id: '1', name: 'weather', arguments: { city: 'Oslo' } };
    const step: RunEvent = { type: 'toolProgress', id: '2', name: 'weather', value: 'asking the station' };
    const left = throwError(() => new Error('left'));
    const { text } = shown(concat(of(call, other, started, step), left), { ...live, columns: () => columns });
    expect(text.split(clear).at(-2)?.slice(2)).toBe(status);
    expect(text.endsWith(clear)).toBe(true);
  });

  it('render dims thinking and paints errors red where there are colours', () => {
    const { text } = shown(
      of<RunEvent[]>(
        { type: 'thinking', text: 'Hm' },
        call,
        { type: 'toolResult', id: '1', name: 'weather', error: 'no' },
        result(),
      ),
      {
        ...plain,
        colors: picocolors.createColors(true),
      },
    );
    expect(text).toContain('\u001b[2mHm\u001b[22m');
    expect(text).toContain('\u001b[31m✗ weather Oslo: no\u001b[39m');
  });

  it('render stops drawing when it is unsubscribed', () => {
    virtually(({ cold, expectObservable, expectSubscriptions }) => {
      const events = cold<RunEvent>('-');
      expectObservable(events.pipe(render(live)), '10ms !').toBe('w', { w: `${clear}⠋ waiting for the model` });
      expectSubscriptions(events.subscriptions).toBe('^ 9ms !');
    });
  });
});

describe('oneLine', () => {
  it('oneLine cuts a line that does not fit, and counts wide characters as two columns', () => {
    expect(oneLine(' a\n b\tc ', 5)).toBe('a b c');
    expect(oneLine('abcdef', 5)).toBe('abcd…');
    expect(oneLine('日本語', 6)).toBe('日本語');
    expect(oneLine('日本語', 5)).toBe('日本…');
    expect(stripControlCharacters('a\tb\r\nc')).toBe('a\tb\nc');
  });
});
