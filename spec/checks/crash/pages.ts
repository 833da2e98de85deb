import { firstValueFrom, Subscription, timer } from 'rxjs';
import { conversation } from '../../../lib/chat/conversation.js';
import type { Conversation } from '../../../lib/chat/conversation.js';
import { persist } from '../../../lib/chat/persist.js';
import { remoteAgent } from '../../../lib/chat/remoteAgent.js';
import type { SavedConversation } from '../../../lib/chat/savedConversation.js';

/** The tools of a prompt, and whether the user stopped it. */
interface Prompt {
  readonly word: string;
  readonly steps: readonly string[];
  mayBeLost: boolean;
}

type Random = { readonly integer: (limit: number) => number };

/** A user with two tabs on one stored conversation. The first tab sends prompts; both decide about calls. */
export function createUser(name: string, ports: readonly number[], random: Random) {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
  const prompts: Prompt[] = [];
  const connections = new Set<AbortController>();

  /** Sends a request to any instance. The connection can be cut. */
  const fetchAnywhere: typeof fetch = async (_, init = {}) => {
    const cut = new AbortController();
    connections.add(cut);
    const signal = init.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal;
    const port = ports[random.integer(ports.length)] ?? 0;
    const response = await fetch(`http://127.0.0.1:${port}/`, { ...init, signal });
    // The leases of a process that was killed end at once here: there is no need to wait for them.
    const headers = new Headers(response.headers);
    headers.delete('retry-after');
    return new Response(response.body, { status: response.status, headers });
  };
  /** The second tab shows and decides. Only the first one stores, so that each run has one writer. */
  const open = (isFirst: boolean) => {
    const agent = remoteAgent('/', { fetch: fetchAnywhere, headers: { 'x-user': name }, retries: 500, retryDelay: 20 });
    const chat = conversation(agent, { saved: storage.getItem(name) });
    const work = new Subscription();
    if (isFirst) work.add(persist(chat, storage, name).subscribe());
    work.add(chat.view$.subscribe());
    return { chat, close: () => work.unsubscribe() };
  };
  const tabs = [open(true), open(false)];
  const reload = (index: number) => {
    tabs[index]?.close();
    tabs[index] = open(index === 0);
  };
  const decide = ({ chat }: { readonly chat: Conversation }, isApproved = true) => {
    for (const { id } of chat.view.waiting)
      chat.decide(id, isApproved ? { approve: true } : { approve: false, reason: 'Not now.' });
  };
  const send = () => {
    const steps = Array.from({ length: random.integer(4) }, () => (random.integer(2) === 0 ? 'lookup' : 'pay'));
    const word = `${name}${prompts.length + 1}`;
    prompts.push({ word, steps, mayBeLost: false });
    tabs[0]?.chat.send([word, ...steps].join(' '));
  };
  const stop = () => {
    for (const prompt of prompts) prompt.mayBeLost = true; // those that wait are dropped
    tabs[0]?.chat.stop();
  };
  const isBusy = () =>
    tabs.some(({ chat }) => chat.view.queued.length > 0 || !['idle', 'failed', 'stopped'].includes(chat.view.status));

  return {
    /** Does one thing that a user, or a network, may do. */
    act() {
      const action = random.integer(20);
      if (action < 6 && (tabs[0]?.chat.view.queued.length ?? 0) < 3) send();
      else if (action < 12) for (const tab of tabs) decide(tab); // twice, if both show the call
      else if (action < 14) reload(1);
      else if (action < 15) reload(0);
      else if (action < 16 && random.integer(4) === 0) stop();
      else if (action < 18) for (const connection of connections) connection.abort();
      if (action < 18 && action >= 16) connections.clear();
    },
    /** Ends the work: answers all calls, until no run goes on. Returns whether it has ended. */
    async finish(time: number) {
      for (let waited = 0; waited < time; waited += 50) {
        for (const tab of tabs) decide(tab);
        await firstValueFrom(timer(50));
        if (waited % 1000 === 0) reload(1); // it shows what the first one has stored
        if (!isBusy()) return true;
      }
      return false;
    },
    close() {
      for (const tab of tabs) tab.close();
    },
    /** Returns what is wrong in the stored conversation. */
    problems(): readonly string[] {
      const saved = JSON.parse(storage.getItem(name) ?? '{"exchanges":[]}') as SavedConversation;
      return prompts.flatMap((prompt) => problemsOf(prompt, saved));
    },
    describe: () => `${name}: ${tabs.map(({ chat }) => `${chat.view.status} (${chat.view.queued.length})`).join(', ')}`,
    count: () => prompts.length,
  };
}

/** What a user must see of a prompt: the view of an undisturbed run, or one whose payment has no known outcome. */
function problemsOf({ word, steps, mayBeLost }: Prompt, { exchanges }: SavedConversation): readonly string[] {
  const own = exchanges.filter(({ input }) => JSON.stringify(input).includes(`"${[word, ...steps].join(' ')}"`));
  if (own.length === 0) return mayBeLost ? [] : [`the prompt ${word} is lost`];
  return own.flatMap((exchange) => {
    const { view, messages, run } = exchange;
    // A run that is stopped while it waits keeps `waiting` as its finish reason.
    const isStopped = view.status === 'stopped' || view.finishReason === 'stopped';
    if (mayBeLost && (isStopped || view.messages.some(({ ended }) => ended !== undefined))) return [];
    if (view.error) return [`the run of ${word} (${run}) failed: ${JSON.stringify(view.error)}`];
    const seen = view.messages
      .filter(({ role }) => role === 'model')
      .flatMap(({ parts }) => parts)
      .map((part) => {
        if (part.type === 'text') return part.text.trim();
        if (part.type !== 'toolCall') return part.type;
        return part.code === 'outcome_unknown' && part.name === 'pay'
          ? `pay ${word}`
          : (part.result ?? part.code ?? part.status);
      });
    const expected = [...steps.flatMap((step) => [`Next ${word}.`, `${step} ${word}`]), `Done ${word}.`];
    const isSame = JSON.stringify(seen) === JSON.stringify(expected);
    const words = [...JSON.stringify(messages).matchAll(/\b(user-\d+-)\d+/g)];
    const others = words.find(([, user = '']) => !word.startsWith(user));
    return [
      ...(isSame
        ? []
        : [
            `the page shows ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)} (run ${run}, ${view.status}, ${view.finishReason}, may be lost: ${mayBeLost}): ${JSON.stringify(exchange).slice(0, 3000)}`,
          ]),
      ...(others ? [`${word} shows a word of another user: ${others[0]}`] : []),
    ];
  });
}
