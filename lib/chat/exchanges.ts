import { hasAnswer, mergeAnswers, pickAnswers, type CallAnswers } from '../core/approval.js';
import { optionsError } from '../core/errors.js';
import { omitUndefined, type JsonObject } from '../core/json/json.js';
import type { Message } from '../core/message.js';
import { reportUnhandled } from '../core/reportUnhandled.js';
import type { EarlierRun } from '../transport/earlierRun.js';
import { filesIn } from '../transport/runFiles.js';
import type { ConversationAgent } from './conversationAgent.js';
import type { Exchange, ExchangeView } from './exchange.js';
import { packFiles } from './savedFiles.js';
import type { ToolCallView, View, ViewStatus } from '../operators/view/view.js';
import { callsOf, changeCall, changeCalls, emptyView, textsOf, viewOf } from '../operators/view/view.js';
import { waitingCalls } from '../operators/view/waitingCalls.js';

/** Sentences by the code of an error or a notice: a text, or a function of its fields (`params`, `retryAfter`). */
export type ErrorSentences = Readonly<Record<string, string | ((params: JsonObject) => string)>>;

/** The first sentence counts: for the provider's code (`too_many_runs`), with the status (`http_429`), for the code. */
export function translate<T extends JsonObject | undefined>(error: T, sentences: ErrorSentences = {}): T {
  const { code, status, providerCode } = error ?? {};
  const withStatus = typeof code === 'string' && typeof status === 'number' ? `${code}_${status}` : undefined;
  const isKnown = (each: unknown): each is string => typeof each === 'string' && Object.hasOwn(sentences, each);
  const sentence = sentences[[providerCode, withStatus, code].find(isKnown) ?? ''];
  if (!error || sentence === undefined) return error;
  if (typeof sentence === 'string') return { ...error, message: sentence };
  try {
    return { ...error, message: sentence(error) };
  } catch (thrown) {
    reportUnhandled(thrown); // the conversation goes on, with the sentence of the service
    return error;
  }
}

/** Applied to each exchange of a path. */
type OfPath<T> = (exchange: Exchange, index: number, path: readonly Exchange[]) => T;

/** Whether the page has given up the run of an exchange, which may go on at the service. */
export const isLost = ({ lost, view }: Pick<Exchange, 'lost' | 'view'>): boolean =>
  lost !== undefined && view.status === 'failed';

/** In all branches. */
export const lostOf = (exchanges: Exchanges): readonly Exchange[] => exchanges.unsettled().filter(isLost);

export const historyOf: OfPath<readonly Message[]> = (...at) => [...acceptedInput(...at), ...at[0].messages];

/** Without the files that the service has. */
export const earlierRun: OfPath<EarlierRun> = (...at) => {
  const [{ run, input, hasBegun }] = at;
  return { id: run, ...(hasBegun ? { input: textsOf(input), hasBegun } : { input: acceptedInput(...at) }) };
};

/**
 * The input without what was refused: with it, each later prompt would be refused, too. If a later prompt was refused
 * with one that had not arrived, either may be the reason.
 */
const acceptedInput: OfPath<readonly Message[]> = (exchange, index, path) => {
  const { input, view } = exchange;
  if (isAnswered(exchange)) return input;
  const next = path.slice(index + 1).find((later) => isAnswered(later) || isRefused(later));
  if (next && isRefused(next)) return [];
  if (!isRefused(exchange)) return input;
  const areFilesRefused = [413, 415].includes(Number(view.error?.['status'])) && filesIn(input).length > 0;
  return areFilesRefused ? textsOf(input) : [];
};

const isAnswered = ({ hasBegun, input, view }: Exchange): boolean =>
  hasBegun === true || view.messages.length > viewOf(input).messages.length;

/** Whether a service, or a provider, has refused an input, maybe for what it is. */
const isRefused = (exchange: Exchange): boolean => {
  const { code, status } = exchange.view.error ?? {};
  const isBlamed = code === 'configuration' || [400, 413, 415, 422].includes(Number(status));
  return isBlamed && !isAnswered(exchange);
};

const openStatuses: readonly ViewStatus[] = ['sending', 'runningTools', 'waiting'];

function exchangeView(
  { id, view, lost, notice }: Exchange,
  versions: readonly string[],
  sentences: ErrorSentences,
): ExchangeView {
  return {
    ...view,
    id,
    versions,
    ...omitUndefined({
      error: translate(view.error, sentences),
      isIncomplete: isLost({ lost, view }) ? (true as const) : undefined,
      notice: translate(notice, sentences),
    }),
  };
}

const shownFields = ['view', 'lost', 'notice'] as const;

/** Whether nothing has to be saved at once: a change of the view of a run, or one with the same status. */
function isGrowing({ base, view }: Exchange, change: Partial<Exchange>): boolean {
  const isOnlyView = Object.keys(change).every((key) => key === 'view');
  return isOnlyView && (base !== undefined || change.view?.status === view.status);
}

export type Exchanges = ReturnType<typeof createExchanges>;

export function createExchanges(
  saved: readonly Exchange[],
  last: string | undefined,
  agent: Pick<ConversationAgent, 'join' | 'fileAddress'> = {},
  sentences: ErrorSentences = {},
) {
  const byId = new Map(saved.map((exchange) => [exchange.id, exchange]));
  /** The emitted views, so that unchanged exchanges keep their identity. */
  const shown = new Map<string, { readonly source: Exchange; readonly view: ExchangeView }>();
  let revision = 0;

  function get(id: string): Exchange {
    const exchange = byId.get(id);
    if (!exchange) throw unknownId('exchange', id, 'Pass the `id` of an exchange of `view`.');
    return exchange;
  }

  function update(id: string, change: Partial<Exchange>): void {
    const exchange = get(id);
    byId.set(id, { ...exchange, ...change });
    if (!isGrowing(exchange, change)) revision += 1;
  }

  function path(id: string | undefined): readonly Exchange[] {
    const newestFirst: Exchange[] = [];
    for (let next = id; next !== undefined; next = newestFirst.at(-1)?.parent) newestFirst.push(get(next));
    return newestFirst.reverse();
  }

  /** Those whose runs have not ended, or wait, oldest first: several only if two tabs have saved them. */
  const open = (): readonly Exchange[] =>
    [...byId.values()].filter(({ base, view }) => base !== undefined || openStatuses.includes(view.status));

  const addAnswer = (id: string, answer: CallAnswers, change: Pick<Partial<Exchange>, 'view'> = {}): void =>
    update(id, { answers: mergeAnswers(get(id).answers, answer), ...change });

  const pack = (exchange: Exchange): Exchange => packFiles(exchange, agent.fileAddress);

  return {
    get,
    update,
    path,
    open,
    addAnswer,

    /** Those, in all branches, whose service is still to be asked: for the rest of an answer, or to stop. */
    unsettled: (): readonly Exchange[] => [...byId.values()].filter(({ lost, stopping }) => lost ?? stopping),

    /** Changes with everything but the growing view of a run. */
    revision: () => revision,

    selected: () => last,

    /** The exchange after which a prompt comes. Default: the selected one, also if the other version was left out. */
    parentOf: (id = ''): string | undefined => (byId.has(id) ? get(id).parent : last),
    /** The input of an exchange, to send it again: the files that the server has are not sent again. */
    inputOf: (id: string): readonly Message[] => pack({ ...get(id), view: emptyView }).input, // with refused files

    waiting: (): readonly ToolCallView[] => waitingIn(open(), path(last)),

    /** An exchange that is known by its id stays as it is. */
    add(id: string, parent: string | undefined, input: readonly Message[]): Exchange {
      const exchange = byId.get(id) ?? { id, parent, run: id, input, messages: [], view: viewOf(input) };
      byId.set(id, exchange);
      last = id;
      revision += 1;
      // The other versions of this prompt have one more version now.
      for (const other of byId.values()) if (other.parent === parent) shown.delete(other.id);
      return exchange;
    },

    select(id: string): void {
      if (path(last).includes(get(id))) return;
      last = id;
      revision += 1;
      const newestChild = () => [...byId.values()].findLast(({ parent }) => parent === last);
      for (let next = newestChild(); next; next = newestChild()) last = next.id;
    },

    view(): readonly ExchangeView[] {
      const siblings = siblingsIn(byId);
      return path(last).map((source) => {
        const { id, parent } = source;
        const known = shown.get(id);
        if (known && shownFields.every((field) => known.source[field] === source[field])) return known.view;
        const view = exchangeView(source, known?.view.versions ?? siblings(parent), sentences);
        shown.set(id, { source, view });
        return view;
      });
    },

    /** A call that has an answer keeps it: a button may be clicked twice. */
    answer(callId: string, answer: CallAnswers): void {
      if (!ownersIn([...byId.values()], []).has(callId))
        throw unknownId('call', callId, 'Pass the `id` of a call of `view.waiting`.');
      const owner = ownersIn(open(), path(last)).get(callId); // a second click must not answer the other
      if (!owner || openCalls(owner).every(({ id }) => id !== callId)) return;
      // The events of a run that has not ended change its view.
      addAnswer(owner.id, answer, owner.base ? {} : { view: changeCall(owner.view, callId, pending) });
    },

    /** A run that can be joined is saved as it was at its start: what is saved changes only if it starts or ends. */
    save: (): readonly Exchange[] =>
      [...byId.values()].map((exchange) => pack(agent.join ? withoutProgress(exchange) : exchange)),
  };
}

/** They are counted once for a view, and only if it has a new exchange. */
function siblingsIn(byId: ReadonlyMap<string, Exchange>): (parent: string | undefined) => readonly string[] {
  const ids = new Map<string | undefined, string[]>();
  return (parent) => {
    if (ids.size === 0)
      for (const { id, parent: other } of byId.values()) if (!ids.get(other)?.push(id)) ids.set(other, [id]);
    return ids.get(parent) ?? [];
  };
}

/** By the ids of calls. Of two with one id, that on the shown path, else the older one: what a person sees counts. */
function ownersIn(list: readonly Exchange[], shownPath: readonly Exchange[]): ReadonlyMap<string, Exchange> {
  const bestLast = [...shownPath.filter((one) => list.includes(one)), ...list].toReversed();
  return new Map(bestLast.flatMap((one) => callsOf(one.view).map(({ id }) => [id, one] as const)));
}

/** It is asked with each event: calls that have ended are read only if several exchanges are open. */
function waitingIn(list: readonly Exchange[], shownPath: readonly Exchange[]): readonly ToolCallView[] {
  const owners = ownersIn(list.length > 1 ? list : [], shownPath);
  return list.flatMap((one) => openCalls(one).filter(({ id }) => (owners.get(id) ?? one) === one));
}

export const openCalls = ({ view, answers }: Exchange): readonly ToolCallView[] =>
  waitingCalls(view).filter(({ id }) => !hasAnswer(answers, id));

/** The answers to the calls of an exchange. Others were given to calls that were retracted. */
export function answersTo({ view, answers = {} }: Exchange): CallAnswers {
  const ids = new Set(callsOf(view).map(({ id }) => id));
  return pickAnswers(answers, (id) => ids.has(id));
}

const pending = (call: ToolCallView): ToolCallView => ({ ...call, status: 'pending' });

/** With the calls that were answered before the run waited: a second answer would be sent to the next run. */
export const answeredView = ({ view, answers }: Exchange): View =>
  changeCalls(view, (call) => (hasAnswer(answers, call.id) ? pending(call) : call));

const withoutProgress = (exchange: Exchange): Exchange =>
  exchange.base ? { ...exchange, view: { ...exchange.base, status: 'sending' } } : exchange;

const unknownId = (kind: string, id: string, hint: string) =>
  optionsError(`The conversation has no ${kind} with the id "${id}".`, hint);
