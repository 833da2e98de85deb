import { describe, expect, it } from '@jest/globals';
import { defer, EMPTY, of, Subject } from 'rxjs';
import type { StreamEvent } from '../../lib/core/event.js';
import { Kernel } from '../../lib/service/kernel.js';
import { observe } from '../support/observe.js';
import { mapStore } from '../support/stores.js';

const create = () => new Kernel<undefined>({ store: mapStore() });
const client = { owner: '', context: undefined };
const bodyOf = (chunks: readonly Uint8Array<ArrayBuffer>[]) =>
  new Request('http://service.test', {
    method: 'POST',
    body: new Blob([...chunks]),
  });

describe('Kernel', () => {
  it('Kernel answers 500 if a store emits nothing', async () => {
    const handler = create().handler(
      () => EMPTY,
      () => new Response(),
    );
    expect((await handler(new Request('http://service.test'))).status).toBe(500);
  });

  it('Kernel reads a body of as many bytes as allowed, and no longer one', async () => {
    const read = (text: string) =>
      new Promise((resolve, reject) => {
        create()
          .readBody(bodyOf([new TextEncoder().encode(text)]), 10)
          .subscribe({ next: resolve, error: reject });
      });
    expect(await read('0123456789')).toBe('0123456789');
    await expect(read('01234567890')).rejects.toMatchObject({ status: 413, message: 'Send at most 10 bytes.' });
  });

  it.each([
    ['objects', '{},'.repeat(249_999), '{},'],
    ['lists', '[],'.repeat(249_999), '[],'],
    ['lists in lists', `${'['.repeat(400)}${']'.repeat(400)},`.repeat(1246), '['.repeat(400)],
    ['numbers', '1,'.repeat(499_999), '1,'],
    ['texts with commas', `"${'[,\\",{'.repeat(200_000)}",`, ','.repeat(500_000)],
  ])('Kernel refuses a body with too many values, which would block the service: %s', (_, most, more) => {
    const read = (text: string) =>
      observe(create().readBody({ body: of(new TextEncoder().encode(text)) } as unknown as Request, 20_971_520));
    const [fits, refused] = [most, `${most}${more}`].map((text) => read(`[${text}1]`));
    expect([fits?.values.length, fits?.error]).toEqual([1, undefined]);
    expect(refused).toMatchObject({ values: [], error: { status: 413, message: 'Send at most 500000 values.' } });
  });

  it('Kernel reads a character whose bytes arrive apart', () => {
    const bytes = new TextEncoder().encode('aé');
    const request = { body: of(bytes.slice(0, 2), bytes.slice(2)) } as unknown as Request;
    expect(observe(create().readBody(request, 10)).values).toEqual(['aé']);
  });

  it('Kernel does the work for an id one by one, also if it comes while other work waits', () => {
    const service = create();
    const begun: string[] = [];
    const work = (name: string) => {
      const end = new Subject<string>();
      observe(service.locked('r', client, () => defer(() => (begun.push(name), end))));
      return () => {
        end.next(name);
        end.complete();
      };
    };
    const endFirst = work('first');
    const endSecond = work('second');
    endFirst();
    const endThird = work('third');
    const atOnce = [...begun];
    endSecond();
    endThird();
    expect([atOnce, begun]).toEqual([
      ['first', 'second'],
      ['first', 'second', 'third'],
    ]);
  });

  it('Kernel executes a run for which no request waits', () => {
    const result = {
      type: 'result',
      result: { messages: [], text: 'Done.', usage: {}, turns: 1 },
    } as unknown as StreamEvent;
    const record = { id: 'r', owner: '', input: [] };
    const { values, error } = observe(create().launch({ record, events: () => of(result) }));
    expect(error).toBeUndefined();
    expect(observe(values[0]?.events$ ?? EMPTY)).toMatchObject({ values: [{ type: 'result' }], completed: true });
  });
});
