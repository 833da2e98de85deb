import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { growing, growingList } from '../../lib/core/growing.js';

interface Item {
  readonly name: string;
}
const [a, b, c, d, e]: Item[] = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name }));

/** The names of a sequence, joined, and the names that were read since the last call. */
function joining() {
  let read = '';
  const join = growing<Item, string>('', (names, { name }, previous) => {
    read += name;
    return `${names}${previous?.name ?? '-'}${name} `;
  });
  return (...sequence: readonly Item[]) => {
    read = '';
    return [join(sequence), read];
  };
}

describe('growing', () => {
  it.each([
    { then: 'a longer sequence', sequence: [a, b, c, d], read: 'd' },
    { then: 'the same sequence', sequence: [a, b, c], read: '' },
    { then: 'a sequence with another end', sequence: [a, b, e, c], read: 'ec' },
    { then: 'a sequence with another item before the last', sequence: [a, e, c], read: 'ec' },
    { then: 'a sequence with another beginning', sequence: [e, b, c], read: 'ebc' },
    { then: 'a sequence without its first item', sequence: [b, c], read: 'bc' },
    { then: 'an empty sequence', sequence: [], read: '' },
  ])('growing reads of $then only what is new', ({ sequence, read }) => {
    const join = joining();
    join(a!, b!, c!);
    const expected = joining()(...(sequence as readonly Item[]))[0];
    expect(join(...(sequence as readonly Item[]))).toEqual([expected, read]);
    expect(join(a!, b!, c!)[0]).toBe('-a ab bc ');
  });

  it('growing continues two sequences with the same beginning', () => {
    const join = joining();
    join(a!, b!);
    expect(join(a!, b!, c!)[1]).toBe('c');
    expect(join(a!, b!, d!)).toEqual(['-a ab bd ', 'd']);
    expect(join(a!, b!, c!, e!)).toEqual(['-a ab bc ce ', 'e']);
    expect(join(a!, b!, d!, e!)).toEqual(['-a ab bd de ', 'e']);
  });

  it('growing is not misled by an array that has changed', () => {
    const names = growingList((item: Item) => [item.name]);
    const array = [a!, b!];
    names(array);
    array.push(c!);
    array[0] = d!;
    expect(names(array)).toEqual(['d', 'b', 'c']);
  });

  it('growing computes again what has thrown', () => {
    let fails = true;
    const names = growingList(({ name }: Item) => {
      if (name === 'c' && fails) throw new Error('c');
      return [name];
    });
    names([a!]);
    expect(() => names([a!, b!, c!, d!])).toThrow('c');
    fails = false;
    expect(names([a!, b!, c!, d!])).toEqual(['a', 'b', 'c', 'd']);
  });

  it('growing returns what one pass returns, whatever the order of the sequences', () => {
    const items = Array.from({ length: 6 }, (_, index) => ({ name: String(index) }));
    const sequence = fc.array(fc.constantFrom(...items), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(sequence, { maxLength: 12 }), (sequences) => {
        const join = joining();
        for (const one of sequences) expect(join(...one)[0]).toBe(joining()(...one)[0]);
      }),
    );
  });
});
