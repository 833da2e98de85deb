import { describe, expect, it } from '@jest/globals';
import { VirtualTimeScheduler } from 'rxjs';
import { promptOf } from '../../../lib/testing/server/dialects/anthropic/cacheControl.js';
import { implicitPrompt } from '../../../lib/testing/server/dialects/implicitPrompt.js';
import { PromptCache } from '../../../lib/testing/server/promptCache.js';

const text = 'x'.repeat(8000); // 2,000 tokens
const block = (content: string, ttl?: string) => ({
  type: 'text',
  text: content,
  ...(ttl === undefined ? {} : { cache_control: { type: 'ephemeral', ttl } }),
});
const request = (blocks: readonly object[]) =>
  promptOf({ model: 'm', messages: [{ role: 'user', content: blocks }] } as never);

/** A cache whose clock can be moved, in minutes. */
function createCache() {
  const scheduler = new VirtualTimeScheduler();
  const wait = (minutes: number) => {
    scheduler.schedule(() => undefined, minutes * 60_000);
    scheduler.flush();
  };
  return { cache: new PromptCache(scheduler), wait };
}

describe('PromptCache', () => {
  it('PromptCache reads what an earlier request wrote up to a breakpoint', () => {
    const { cache } = createCache();
    const first = cache.usageOf(request([block(text, '5m'), block('Hi')]));
    expect(first).toMatchObject({ cachedInput: 0, cacheWriteInput: expect.any(Number) });
    expect(first).not.toHaveProperty('longCacheWriteInput');
    const second = cache.usageOf(request([block(text, '5m'), block('Bye')]));
    expect(second).toMatchObject({ cachedInput: first.cacheWriteInput, cacheWriteInput: 0 });
    expect(cache.usageOf(request([block(`y${text}`, '5m')]))).toMatchObject({ cachedInput: 0 });
  });

  it('PromptCache keeps a prefix for its lifetime after the last use', () => {
    const { cache, wait } = createCache();
    const long = request([block(text, '1h')]);
    expect(cache.usageOf(long).longCacheWriteInput).toBeGreaterThan(2000);
    wait(59);
    expect(cache.usageOf(long).cachedInput).toBeGreaterThan(2000);
    wait(59);
    expect(cache.usageOf(long).cachedInput).toBeGreaterThan(2000);
    wait(61);
    expect(cache.usageOf(long).cachedInput).toBe(0);
  });

  it('PromptCache finds a prefix up to 20 blocks before a breakpoint', () => {
    const after = (count: number) => {
      const { cache } = createCache();
      cache.usageOf(request([block(text, '5m')]));
      const blocks = [block(text), ...Array.from({ length: count - 1 }, () => block('Hi')), block('Hi', '5m')];
      return cache.usageOf(request(blocks)).cachedInput;
    };
    expect(after(20)).toBeGreaterThan(2000);
    expect(after(21)).toBe(0);
  });

  it('PromptCache caches no short prefix, and none without a breakpoint', () => {
    const { cache } = createCache();
    const short = request([block('Hi', '5m')]);
    const plain = request([block(text)]);
    expect([short, short, plain, plain].map((prompt) => cache.usageOf(prompt).cachedInput)).toEqual([0, 0, 0, 0]);
  });

  it('PromptCache caches every prefix of an OpenAI request, apart for each key', () => {
    const { cache } = createCache();
    const prompt = (key: string, ...messages: readonly string[]) =>
      implicitPrompt({ model: 'm', prompt_cache_key: key, messages }, ['messages']);
    cache.usageOf(prompt('a', text));
    expect(cache.usageOf(prompt('a', text, 'Bye')).cachedInput).toBeGreaterThan(1999);
    expect(cache.usageOf(prompt('b', text, 'Bye')).cachedInput).toBe(0);
  });
});
