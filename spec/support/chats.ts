import { concatMap, of, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { ChatRecord, ChatStore } from '../../lib/service/chats/chatStore.js';
import { memoryStore } from '../../lib/service/stores/memory/memoryStore.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AgentHandler } from '../../lib/service/service.js';
import { scriptedModel } from '../../lib/testing/index.js';
import type { KeepChatsOptions } from '../../lib/service/chats/keepChats.js';
import { keepChats } from '../../lib/service/index.js';
import { mapStore } from './stores.js';

/** A store of chats that receives requests late and answers late, in any order. */
export function lateChats(chats: ChatStore = memoryStore<ChatRecord>()): ChatStore {
  const pause = <T>(value: T) => timer(1 + Math.random() * 8).pipe(concatMap(() => of(value)));
  const late = <T>(work: () => Observable<T>) => pause(undefined).pipe(concatMap(work), concatMap(pause));
  return {
    get: (id) => late(() => chats.get(id)),
    put: (record, version) => late(() => chats.put(record, version)),
    delete: (id, version) => late(() => chats.delete(id, version)),
    list: (query) => late(() => chats.list(query)),
  };
}

export interface ChatServiceOptions extends KeepChatsOptions<string> {
  readonly chats?: ChatStore | undefined;
  readonly onError?: ((thrown: unknown) => void) | undefined;
}

/** A service that keeps chats. Its users are the values of the header `authorization`. */
export function createChatService({ chats = memoryStore<ChatRecord>(), onError, ...options }: ChatServiceOptions = {}) {
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
