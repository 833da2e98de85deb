import { NEVER, concat, from, throwError, type OperatorFunction } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { inVirtualTime } from '../inVirtualTime.js';
import { expectSame, fail, record } from './record.js';

type TextOperator = OperatorFunction<StreamEvent, StreamEvent>;
type Events = readonly StreamEvent[];

/** More than an operator should hold back. */
const LONG_TEXT = 5000;

type AnyEvent = StreamEvent & Readonly<Record<string, unknown>>;

const finish: AnyEvent = { type: 'finish', reason: 'stop' };
const stopped: AnyEvent = { type: 'finish', reason: 'stopped' };
const source: AnyEvent = { type: 'source', source: { type: 'source', url: 'https://example.org' } };

const content: readonly AnyEvent[] = [
  source,
  { type: 'provider', provider: 'any', data: { signature: 'signature' } },
  { type: 'thinking', text: 'Hm.' },
  { type: 'toolCallFragment', id: 'call_1', name: 'any', arguments: {}, done: true },
  { type: 'toolCall', id: 'call_1', name: 'any', arguments: {} },
];

const notices: readonly AnyEvent[] = [
  { type: 'metadata', metadata: { id: 'response_1' } },
  { type: 'retry', attempt: 1, delay: 1, error: {} },
];

const endings = {
  'a stop': {
    emit: '`next`, before the `finish`',
    textAfter: (operator: TextOperator, events: Events) => {
      const { values } = record(from([...events, stopped]).pipe(operator));
      const end = values.findIndex(({ type }) => type === 'finish');
      return textOf(end < 0 ? values : values.slice(0, end));
    },
  },
  'a completion': {
    emit: '`complete`',
    textAfter: (operator: TextOperator, events: Events) => textOf(record(from(events).pipe(operator)).values),
  },
  'an error': {
    emit: '`error`, before the error',
    textAfter: (operator: TextOperator, events: Events) => {
      const failing = concat(
        from(events),
        throwError(() => new Error('connection reset')),
      );
      return textOf(record(failing.pipe(operator)).values);
    },
  },
  'a source': {
    emit: '`next`, before an event with a position in the text',
    textAfter: (operator: TextOperator, events: Events) =>
      textOf(record(from([...events, source]).pipe(operator)).values),
  },
};

/** An operator may hold a text back if its meaning depends on later text: here it arrives by characters. */
export function textCases(operator: TextOperator, turn: Events): Readonly<Record<string, () => void>> {
  const deltas = oneByOne(turn);
  const turns = deltas.map((_, index) => deltas.slice(0, index + 1));

  /** The longest emitted text counts, since the others lose some. */
  const emittedTextOf = (events: Events) =>
    Object.entries(endings)
      .map(([ending, { textAfter }]) => ({ ending, text: textAfter(operator, events) }))
      .reduce((longest, each) => (each.text.length > longest.text.length ? each : longest));

  const expectText = (events: Events, at: string, text: string, emit: string) => {
    const complete = emittedTextOf(events);
    if (text === complete.text) return;
    const [given, actual, expected] = [textOf(events), text, complete.text].map((each) => JSON.stringify(each));
    fail(
      `after the text ${given}, the operator emitted ${actual} at ${at}, but ${expected} at ${complete.ending}: ` +
        `emit the text that is held in ${emit}.`,
    );
  };

  const losesNothingAt = (ending: keyof typeof endings) => () => {
    const { emit, textAfter } = endings[ending];
    for (const events of turns) expectText(events, ending, textAfter(operator, events), emit);
  };

  return {
    'loses no text that it holds when a stop ends its source': losesNothingAt('a stop'),
    'loses no text that it holds when its source fails': losesNothingAt('an error'),
    'loses no text that it holds when its source completes': losesNothingAt('a completion'),

    'keeps the order of text and other content': () => {
      for (const other of content) {
        for (const events of turns) {
          const { values } = record(from([...events, other, ...deltas, finish]).pipe(operator));
          const at = values.findIndex(({ type }) => type === other.type);
          const before = textOf(values.slice(0, at));
          if (at >= 0) expectText(events, `an event "${other.type}"`, before, endings['a source'].emit);
        }
      }
    },

    'reads a text across metadata and retries': () => {
      const { values } = record(from([...deltas, finish]).pipe(operator));
      for (const notice of notices) {
        const events = deltas.flatMap((delta) => [delta, notice]);
        const { values: noticed } = record(from([...events, finish]).pipe(operator));
        expectSame(`text with "${notice.type}" after each delta`, textOf(noticed), textOf(values));
      }
    },

    'emits text before the end of the turn': () => {
      const long = Array.from({ length: Math.ceil(LONG_TEXT / deltas.length) }, () => deltas).flat();
      if (emittedTextOf(long).text === '') return;
      const { values } = inVirtualTime(() => concat(from(long), NEVER).pipe(operator));
      if (textOf(values.map(({ value }) => value)) !== '') return;
      fail(`${long.length} characters of text are held until the turn ends: emit what is decided when it arrives.`);
    },

    'ends the output with the finish': () => {
      const { values } = record(from([...deltas, finish]).pipe(operator));
      const at = values.findIndex(({ type }) => type === 'finish');
      if (at >= 0) expectSame('values after the finish', values.slice(at + 1), []);
    },
  };
}

export function oneByOne(turn: Events): Events {
  return Array.from(textOf(turn) || 'one two', (text): AnyEvent => ({ type: 'text', text }));
}

const textOf = (events: Events): string =>
  events
    .map((each) => (each.type === 'text' && 'text' in each && typeof each.text === 'string' ? each.text : ''))
    .join('');
