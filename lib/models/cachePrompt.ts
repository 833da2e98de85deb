import { deriveModel } from '../core/deriveModel.js';
import { callModelWrapper } from '../core/callWrapper.js';
import { optionsError } from '../core/errors.js';
import { growing } from '../core/growing.js';
import { hash } from '../core/hash.js';
import { isRecord, type JsonObject } from '../core/json/json.js';
import { messageText, type Message, type ProviderOptions } from '../core/message.js';
import type { Model, ModelRequest } from '../core/model.js';
import { openResponse } from '../core/response.js';
import { requireOptions } from '../core/requireOptions.js';
import type { ToolDefinition } from '../core/tool.js';
import { requireSync } from '../core/options.js';

export interface CachePromptOptions {
  /**
   * How long the provider keeps a prompt after its last use. `short`: 5 minutes (Anthropic), 30 minutes (OpenAI).
   * `long`: 1 hour, for which Anthropic charges more when it writes; 12 hours (OpenAI, `gpt-5.6` and later). Default:
   * `short`.
   */
  readonly lifetime?: 'short' | 'long' | undefined;
  /**
   * OpenAI's cache key, or a function of the request: equal keys reach the same machine. Default: a hash of the
   * instructions, the names of the tools and the first prompt.
   */
  readonly key?: string | ((request: ModelRequest) => string) | undefined;
}

/**
 * Makes a model that lets its provider cache the prompt, so that a turn pays only for what is new.
 *
 * <span class="informal">Ten turns pay for their prompt once.</span>
 *
 * Each wire receives what it knows, and ignores the rest, so that the model may also be a `fallback` of several:
 *
 * - Anthropic: breakpoints after the instructions, after the tools, and after the last two user messages or tool
 *   results: each turn reads what the turn before it wrote. Breakpoints of your own (`cache_control` in
 *   `providerOptions`) stay, and count among the four that the API accepts.
 * - OpenAI: `prompt_cache_key`, and the lifetime.
 * - OpenRouter, for the models of Anthropic: its breakpoint that moves forward by itself.
 *
 * Other providers cache by themselves, or not at all. `usage.cachedInput` says how much was read, `cacheWriteInput` how
 * much was written. Providers cache a prompt from a minimum length on (1024 to 4096 tokens).
 *
 * ```ts
 * const model = cachePrompt(anthropic('claude-sonnet-5-5'));
 * createAgent({ model, system: handbook, tools: [search] }).run('Hi').subscribe(({ usage }) => console.log(usage));
 * ```
 *
 * Sources: Anthropic's page "Prompt caching"; OpenAI's guide "Prompt caching" and the types of its SDK (7.57);
 * OpenRouter's guide "Prompt caching".
 *
 * @param model The model. It may be left out.
 * @param options The lifetime, and OpenAI's key.
 * @returns A model with the same provider, name and capabilities. Without `model`, a function of a model, for rxjs's
 * `pipe`.
 */
export function cachePrompt(model: Model, options?: CachePromptOptions): Model;
export function cachePrompt(options?: CachePromptOptions): (model: Model) => Model;
export function cachePrompt(...args: readonly unknown[]) {
  return callModelWrapper(args, (options: CachePromptOptions = {}) => {
    requireOptions('cachePrompt', options, { lifetime: 'string', key: 'any' });
    requireLifetime(options);
    return (model) => {
      const withBreakpoints = createBreakpoints(options.lifetime === 'long' ? longControl : shortControl);
      const settings = openRouterSettings(model, options);
      return deriveModel(model, (request) => {
        const cached = { ...openAiSettings(request, options), ...settings };
        return openResponse(model, {
          ...withBreakpoints(request),
          providerOptions: mergeOptions(cached, request.providerOptions),
        });
      });
    };
  });
}

function requireLifetime({ lifetime = 'short' }: CachePromptOptions): void {
  if (['short', 'long'].includes(lifetime)) return;
  throw optionsError(`cachePrompt: "lifetime" is "${lifetime}".`, 'Use "short" or "long".');
}

const shortControl: JsonObject = { type: 'ephemeral' };
const longControl: JsonObject = { type: 'ephemeral', ttl: '1h' };

const maxBreakpoints = 4;

function createBreakpoints(control: JsonObject): (request: ModelRequest) => ModelRequest {
  const marked = new WeakMap<object, object>();
  const mark = <T extends Message | ToolDefinition>(owner: T): T => {
    const known = marked.get(owner) as T | undefined;
    if (known) return known;
    const providerOptions = mergeOptions(owner.providerOptions, { anthropic: { cache_control: control } });
    const copy = { ...owner, providerOptions };
    marked.set(owner, copy);
    return copy;
  };
  return (request) => {
    const { messages, tools = [], providerOptions } = request;
    const { count, last, previous, system } = findPlaces(messages);
    const free = Math.max(maxBreakpoints - count - [{ providerOptions }, ...tools].filter(isMarked).length, 0);
    // A deferred tool is not in the prompt, so that it cannot end what is cached.
    const tool = tools.findLast((one) => one.providerOptions?.['anthropic']?.['defer_loading'] !== true);
    const places = [last, system, previous, tool && !isMarked(tool) ? tool : undefined]; // the most useful one first
    const owners = new Set<unknown>(places.filter((place) => place !== undefined).slice(0, free));
    if (owners.size === 0) return request;
    const markOwner = <T extends Message | ToolDefinition>(owner: T): T => (owners.has(owner) ? mark(owner) : owner);
    return { ...request, messages: messages.map(markOwner), ...(request.tools && { tools: tools.map(markOwner) }) };
  };
}

/** Places for breakpoints, and breakpoints that exist. A place that has one is omitted. */
interface Places {
  readonly count: number;
  readonly last?: Message | undefined;
  readonly previous?: Message | undefined;
  readonly system?: Message | undefined;
}

const findPlaces = /* @__PURE__ */ growing<Message, Places>({ count: 0 }, (places, message) => {
  const marks = [message, ...message.parts].filter(isMarked).length;
  const counted = { ...places, count: places.count + marks };
  const place = marks === 0 ? message : undefined;
  if (message.role === 'user' && message.parts.length > 0) return { ...counted, previous: places.last, last: place };
  return message.role === 'system' && messageText(message).trim() !== '' ? { ...counted, system: place } : counted;
});

function isMarked(owner: object): boolean {
  const { providerOptions } = owner as { readonly providerOptions?: ProviderOptions };
  return isRecord(providerOptions?.['anthropic']?.['cache_control']);
}

function openAiSettings(request: ModelRequest, { lifetime, key = keyOf }: CachePromptOptions): ProviderOptions {
  const fields: JsonObject = {
    prompt_cache_key: typeof key === 'string' ? key : requireSync('key', key(request)),
    ...(lifetime === 'long' ? { prompt_cache_options: { ttl: '12h' } } : {}),
  };
  return { 'openai-chat': fields, openai: fields };
}

/** The field is for a breakpoint at the end of each prompt, only for models that need it. */
function openRouterSettings({ name }: Model, { lifetime }: CachePromptOptions): ProviderOptions {
  if (!name.startsWith('anthropic/')) return {};
  return { openrouter: { cache_control: lifetime === 'long' ? longControl : shortControl } };
}

/** Equal in all requests of a conversation: the instructions, the tools, and the first prompt. */
function keyOf({ messages, tools = [] }: ModelRequest): string {
  const { texts, isComplete } = findBeginning(messages);
  return `rivulet-${hash([...(isComplete ? texts : []), ...tools.map(({ name }) => name)].join('\n'))}`;
}

const findBeginning = /* @__PURE__ */ growing<
  Message,
  { readonly texts: readonly string[]; readonly isComplete: boolean }
>({ texts: [], isComplete: false }, (beginning, message) =>
  beginning.isComplete
    ? beginning
    : { texts: [...beginning.texts, messageText(message)], isComplete: message.role === 'user' },
);

function mergeOptions(a: ProviderOptions = {}, b: ProviderOptions = {}): ProviderOptions {
  const providers = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...providers].map((provider) => [provider, { ...a[provider], ...b[provider] }]));
}
