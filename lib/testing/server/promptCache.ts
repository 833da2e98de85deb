import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { omitUndefined } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import type { CachedPrompt } from './dialects/dialect.js';

/** In tokens (OpenAI, and most models of Anthropic). */
const minimum = 1024;
const charactersPerToken = 4;
/** A longer lifetime than this one is billed as a long one. */
const shortLifetime = 30 * 60_000;

export class PromptCache {
  private readonly entries = new Map<string, { lifetime: number; until: number }>();

  constructor(private readonly scheduler: SchedulerLike = asyncScheduler) {}

  usageOf(prompt: CachedPrompt): Usage {
    const prefixes = prefixesOf(prompt);
    const input = prefixes.at(-1)?.tokens ?? 0;
    const read = this.longestKnown(prompt, prefixes);
    const cachedInput = prefixes[read]?.tokens ?? 0;
    const known = this.entries.get(prefixes[read]?.key ?? '');
    if (known) known.until = this.scheduler.now() + known.lifetime;
    const written = prefixes.filter(({ lifetime, tokens }, at) => lifetime && at > read && tokens >= minimum);
    for (const { key, lifetime = 0 } of written)
      this.entries.set(key, { lifetime, until: this.scheduler.now() + lifetime });
    const cacheWriteInput = Math.max((written.at(-1)?.tokens ?? 0) - cachedInput, 0);
    const isLong = written.some(({ lifetime = 0 }) => lifetime > shortLifetime);
    return omitUndefined({
      input,
      cachedInput,
      cacheWriteInput,
      longCacheWriteInput: isLong ? cacheWriteInput : undefined,
    });
  }

  /** Near enough to a breakpoint; -1 if there is none. */
  private longestKnown({ lookBack }: CachedPrompt, prefixes: readonly Prefix[]): number {
    return prefixes.findLastIndex(({ key }, at) => {
      const isNear = prefixes.slice(at, at + lookBack + 1).some(({ lifetime }) => lifetime !== undefined);
      const entry = this.entries.get(key);
      return isNear && entry !== undefined && entry.until > this.scheduler.now();
    });
  }
}

interface Prefix {
  readonly key: string;
  readonly tokens: number;
  readonly lifetime?: number | undefined;
}

function prefixesOf({ scope, blocks }: CachedPrompt): readonly Prefix[] {
  let key = scope;
  let characters = 0;
  return blocks.map(({ text, lifetime }) => {
    key += `\n${text}`;
    characters += text.length;
    return { key, tokens: Math.ceil(characters / charactersPerToken), lifetime };
  });
}
