import { concatMap, of, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel } from '../../lib/testing/index.js';
import type { KeepChatsOptions } from '../../lib/service/chats/keepChats.js';
import { keepChats, memoryChats } from '../../lib/service/index.js';
import type { ChatStore } from '../../lib/service/index.js';
import { mapStore } from './stores.js';

/** A store of chats that receives requests late and answers late, in any order. */
export function lateChats(chats: ChatStore = memoryChats()): ChatStore {
  const pause = <T>(value: T) => timer(1 + Math.random() * 8).pipe(concatMap(() => of(value)));
  const late = <T>(work: () => Observable<T>) => pause(undefined).pipe(concatMap(work), concatMap(pause));
  return {
    get: (id) => late(() => chats.get(id)),
    put: (record, version) => late(() => chats.put(record, version)),
    delete: (id, version) => late(() => chats.delete(id, version)),
    list: (owner, cursor) => late(() => chats.list(owner, cursor)),
  };
}

export interface ChatServiceOptions extends KeepChatsOptions<string> {
  readonly chats?: ChatStore | undefined;
  readonly onError?: ((thrown: unknown) => void) | undefined;
}

/** A service that keeps chats. Its users are the values of the header `authorization`. */
export function createChatService({ chats = memoryChats(), onError, ...options }: ChatServiceOptions = {}) {
  const store = mapStore();
  const handler: AgentHandler = agentHandler<string>(createAgent({ model: scriptedModel(() => 'Hello.') }), {
    context: (request) => request.headers.get('authorization') ?? '',
    owner: (user) => user,
    store,
    chats: keepChats(chats, options),
    onError,
  });
  return { handler, store };
}
