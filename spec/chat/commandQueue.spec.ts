import { describe, expect, it } from '@jest/globals';
import { EMPTY, NEVER, noop } from 'rxjs';
import { createCommand, createCommandQueue, type QueuedPrompt } from '../../lib/chat/commandQueue.js';

/** A queue whose first run goes on. The run takes prompts if `takes` says so. */
function merging(takes: (prompt: string) => boolean) {
  const offered: string[] = [];
  const offer = ({ id }: QueuedPrompt) => {
    offered.push(id);
    return takes(id) ? 'run' : undefined;
  };
  const queue = createCommandQueue('merge', noop, [], () => ({ offer, settleLost: () => EMPTY, reconnect: noop }));
  const add = (input: string) => queue.add(createCommand(() => NEVER, { id: input, input }));
  const running = queue
    .run(
      NEVER,
      createCommand(() => NEVER, { id: 'run', input: 'run' }),
    )
    .subscribe();
  return { add, offered, joined: (id: string) => queue.joined(id), queue, running };
}

describe('createCommandQueue', () => {
  it.each<[string, (prompt: string) => boolean, readonly string[], readonly string[], readonly string[]]>([
    ['after both have joined', () => true, ['a', 'b'], ['a', 'b', 'c'], ['c']],
    ['while the second one waits', () => true, ['a'], ['a', 'b', 'c'], ['b', 'c']],
    ['while the first one waits', () => true, ['b'], ['a', 'b', 'c'], ['a', 'c']],
    ['behind one that was not taken', (text) => text !== 'a', [], ['a'], ['a', 'b', 'c']],
    ['after one that another tab has sent', (text) => text !== 'a', ['a', 'b'], ['a', 'c'], ['c']],
  ])('a queue offers a third prompt %s', (_, takes, joined, offered, waiting) => {
    const { add, queue, running, ...seen } = merging(takes);
    for (const prompt of ['a', 'b']) add(prompt);
    for (const prompt of joined) seen.joined(prompt);
    add('c');
    expect(seen.offered).toEqual(offered);
    expect(queue.prompts().map(({ id }) => id)).toEqual(waiting);
    running.unsubscribe();
  });
});
