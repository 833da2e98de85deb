import { describe, expect, it } from '@jest/globals';
import { from, toArray } from 'rxjs';
import { textFilter } from 'rivulet';
import type { Chunk } from 'rivulet';
import { expectMarbles, operatorContract, playMarbles, toolCall } from 'rivulet/testing';

const address = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;

/** The operator of its doc comment. */
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

describe('textFilter', () => {
  it('textFilter changes text that two deltas share', () => {
    expectMarbles(
      () =>
        playMarbles('a-b-(c|)', { a: [text('Write to ann@')], b: [text('x.org now')], c: [finish] }).pipe(maskEmails()),
      'a-b-(c|)',
      { a: [text('Write to ')], b: [text('[email] ')], c: [text('now'), finish] },
    );
  });

  it('textFilter keeps the order of text, calls and thinking', () => {
    const thinking: Chunk = { type: 'thinking', text: 'Hm.' };
    const events: Chunk[] = [];
    from([text('Let me look'), toolCall('search'), text('again'), thinking, finish])
      .pipe(maskEmails())
      .subscribe((event) => events.push(event));
    expect(events).toEqual([text('Let me '), text('look'), toolCall('search'), text('again'), thinking, finish]);
  });

  it('textFilter keeps the place of a provider part in the text, and emits no prefix twice', () => {
    const part: Chunk = { type: 'provider', provider: 'google', data: { thoughtSignature: 's' } };
    from<Chunk[]>([{ type: 'text', text: '\nwor', prefix: '\n' }, text('ld'), part, text('wide'), finish])
      .pipe(maskEmails(), toArray())
      .subscribe((events) => {
        expect(events).toEqual([text('\n'), text('world'), part, text('wide'), finish]);
      });
    expect.assertions(1);
  });

  it.each(operatorContract(maskEmails(), { source: [text('Write to ann@'), text('x.org now'), finish] }))(
    'textFilter makes an operator that $title',
    ({ run }) => run(),
  );
});
