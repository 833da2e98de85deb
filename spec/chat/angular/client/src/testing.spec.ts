import { map, timer } from 'rxjs';
import { textFilter, tool } from 'rivulet';
import type { Chunk } from 'rivulet';
import {
  expectMarbles,
  marbleMatchers,
  operatorContract,
  playMarbles,
  runAgent,
  scriptedModel,
  toolCall,
} from 'rivulet/testing';
import type { MarbleValues } from 'rivulet/testing';

declare module 'vitest' {
  // eslint-disable-next-line -- the type parameters are those of vitest
  interface Matchers<T = any> {
    toEmitMarbles(marbles: string, values?: MarbleValues<unknown>, error?: unknown): void;
  }
}

expect.extend(marbleMatchers);

const address = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;

/** The operator of docs/testing.md. */
const maskEmails = () =>
  textFilter<Chunk>((emit) => {
    let held = '';
    const emitText = (text: string) => {
      if (text !== '') emit({ type: 'text', text: text.replace(address, '[email]') });
    };
    return {
      read(chunk) {
        const text = held + chunk.text;
        const end = text.search(/[\w.+@-]*$/);
        held = text.slice(end);
        emitText(text.slice(0, end));
        return false;
      },
      release() {
        const text = held;
        held = '';
        emitText(text);
      },
    };
  });

const text = (value: string): Chunk => ({ type: 'text', text: value });
const finish: Chunk = { type: 'finish', reason: 'stop' };
const deltas = { a: [text('Write to ann@')], b: [text('example.org now')], c: [finish] };
const expected = { a: [text('Write to ')], b: [text('[email] ')], c: [text('now'), finish] };
const played = () => playMarbles('a 9ms b 9ms (c|)', deltas);

describe('rivulet/testing in the runner of Angular', () => {
  it('compares a stream with a diagram in virtual time', () => {
    expectMarbles(() => played().pipe(maskEmails()), 'a 9ms b 9ms (c|)', expected);
    expect(() => played().pipe(maskEmails())).toEmitMarbles('a 9ms b 9ms (c|)', expected);
  });

  it('shows both diagrams and the first difference', () => {
    const compare = () => expect(played).toEmitMarbles('a 9ms b 9ms (c|)', expected);
    expect(compare).toThrow(/expected {2}a 9ms b 9ms \(c\|\)\nactual {4}d 9ms e 9ms \(f\|\)\n {10}\^/);
  });

  for (const { title, run } of operatorContract(maskEmails(), { source: [...deltas.a, ...deltas.b, ...deltas.c] }))
    it(title, run);

  it('runs an agent in virtual time', () => {
    const weather = tool({
      name: 'weather',
      description: 'The weather.',
      execute: () => timer(60_000).pipe(map(() => 'cold')),
    });
    const model = scriptedModel([[{ delay: 200 }, toolCall('weather')], 'It is cold.']);
    const { values, result } = runAgent({ model, tools: [weather] }, 'How warm is it?');
    expect(values.filter(({ value }) => value.type === 'toolResult').map(({ at }) => at)).toEqual([60_200]);
    expect([result?.answer, model.unusedTurns]).toEqual(['It is cold.', []]);
  });
});
