import { describe, expect, it } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { chatStoreContract } from '../../../../lib/testing/index.js';
import { memoryChats } from '../../../../lib/service/index.js';
import { lateChats } from '../../../support/chats.js';

describe('memoryChats', () => {
  it.each(chatStoreContract(() => memoryChats()))('$title', ({ run }) => run());
  it.each(chatStoreContract(() => lateChats()))('answering late, $title', ({ run }) => run());

  it('removes the oldest chats of the owner that uses most of it', async () => {
    const chats = memoryChats({ maxBytes: 4000 });
    const put = (owner: string, id: string, size: number, updated = 1) =>
      firstValueFrom(chats.put({ id, owner, title: id, updated, saved: { text: 'x'.repeat(size) } }, 0));
    await put('ann', 'a1', 100);
    for (const [index, id] of ['e1', 'e2', 'e3'].entries()) await put('eve', id, 1500, index);
    const ids = async (owner: string) => (await firstValueFrom(chats.list(owner))).chats.map(({ id }) => id);
    expect([await ids('ann'), await ids('eve')]).toEqual([['a1'], ['e3', 'e2']]);
  });
});
