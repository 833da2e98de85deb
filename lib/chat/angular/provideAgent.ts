import { computed, inject, Injector, runInInjectionContext, type Provider } from '@angular/core';
import type { ConversationAgent } from '../conversationAgent.js';
import { optionsError } from '../../core/errors.js';

/** The token of the agent: a class, since `new InjectionToken()` would be a call when the module is loaded. */
class ProvidedAgent {
  constructor(
    readonly agent: ConversationAgent,
    readonly user: (() => string | undefined) | undefined,
  ) {}
}

/** Options of `provideAgent`. */
interface ProvideAgentOptions {
  /**
   * Returns the id of the user, of a signal. The keys of what is stored in the browser contain it, and each user has
   * conversations and runs of their own, so that another user of the same page or browser sees nothing of them; without
   * a user, nothing is stored. It may use `inject`. Default: the `user` of the provider above this one; if there is
   * none, there is one user.
   */
  readonly user?: (() => string | undefined) | undefined;
}

/**
 * Provides the agent of an application, a route or a component.
 *
 * <span class="informal">Says once which agent `injectConversation` and `injectRun` ask.</span>
 *
 * In a page this is a `remoteAgent`: the key of the model stays at the service. A function is called when the agent is
 * first injected, and can use `inject` itself. The provider of a component hides that of the application.
 *
 * ```ts
 * bootstrapApplication(App, {
 *   providers: [provideAgent(remoteAgent('/api/chat'), { user: () => inject(Session).user() })],
 * });
 * ```
 *
 * @param agent What `remoteAgent` or `createAgent` returns, or a function that returns it.
 * @param options `user` (default: that of the provider above; if there is none, there is one user).
 * @returns A provider.
 */
export function provideAgent(
  agent: ConversationAgent | (() => ConversationAgent),
  { user }: ProvideAgentOptions = {},
): Provider {
  const useFactory = () => {
    const injector = inject(Injector);
    const parent = inject(ProvidedAgent, { optional: true, skipSelf: true });
    const userOf = user ? computed(() => runInInjectionContext(injector, user)) : parent?.user;
    return new ProvidedAgent(typeof agent === 'function' ? agent() : agent, userOf);
  };
  return { provide: ProvidedAgent, useFactory };
}

/** Injects what returns the key of a value of the user, stored or not: undefined if nobody is logged in. */
export function injectUserKey(): (key?: string) => string | undefined {
  const user = inject(ProvidedAgent, { optional: true })?.user;
  return (key = '') => {
    if (!user) return key;
    const id = user();
    return id === undefined ? undefined : `${encodeURIComponent(id)} ${key}`; // user "a b" shares no key with "a"
  };
}

/**
 * Injects the agent that `provideAgent` provides.
 *
 * ```ts
 * const chat = conversation(injectAgent());
 * ```
 *
 * @returns The agent.
 * @throws ConfigurationError `options` if none is provided. Angular's error NG0203 outside of an injection context.
 */
export function injectAgent(): ConversationAgent {
  const provided = inject(ProvidedAgent, { optional: true });
  if (!provided)
    throw optionsError(
      'No agent is provided.',
      "Add provideAgent(remoteAgent('/api/chat')) to the providers of the application, or pass the option `agent`.",
    );
  return provided.agent;
}
