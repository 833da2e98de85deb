import type { Observable } from 'rxjs';
import type { JsonObject } from '../../core/json/json.js';
import type { ChatSummary } from '../../transport/chatSummary.js';
import type { RecordStore, Stored } from '../ports/recordStore.js';
import type { Client } from '../client.js';
import type { OwnerLimits } from '../ownerLimits.js';

/** The stored record of a chat. Plain JSON. */
export interface ChatRecord extends Omit<ChatSummary, 'version'> {
  /** From the option `owner` of the service. Empty: all users are one owner. */
  readonly owner: string;
  /** The user has deleted it: only this mark is left, so that a device that was offline does not create it again. */
  readonly state?: 'deleted' | undefined;
  /** When the mark may be removed. */
  readonly expires?: number | undefined;
  /** What `save` of the conversation has returned. The page wrote it: only the page reads it. */
  readonly saved: JsonObject;
  /** The runs of exchanges that were removed from `saved`, because there was no room: deleted with the chat. */
  readonly earlierRuns?: readonly string[] | undefined;
}

export type StoredChat = Stored<ChatRecord>;

export type ChatStore = RecordStore<ChatRecord>;

export interface ChatService {
  readonly store: ChatStore;
  /** Deletes also the runs that the run resumed, and those that resumed it. */
  readonly deleteRun: (id: string, owner: string) => Observable<never>;
  /** Counts what has arrived of a request for its owner. */
  readonly receive: OwnerLimits['receive'];
  readonly onError: (thrown: unknown) => void;
}

/** An Observable needs the chat for itself no longer: a title may take long. */
export type ChatAnswer = Response | Observable<Response>;

/** The chats of the users of a service: what `keepChats` of `rivulet/service` returns. */
export interface ServiceChats<C = unknown> {
  /** Where they are. The service guards it. */
  readonly store: ChatStore;
  /** Answers a request for chats, while no other request changes the chat. A RequestError is the answer, too. */
  readonly answer: (request: Request, client: Client<C>, service: ChatService) => Observable<ChatAnswer>;
}
