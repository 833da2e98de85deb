import type { Observable } from 'rxjs';
import type { JsonObject } from '../../core/json/json.js';
import type { ChatPage, ChatSummary } from '../../transport/chatSummary.js';
import type { Client } from '../runs/runAccess.js';

/** The stored record of a chat. Plain JSON. */
export interface ChatRecord extends Omit<ChatSummary, 'version'> {
  /** From the option `owner` of the service. Empty: all users are one owner. */
  readonly owner: string;
  /** What `save` of the conversation has returned. The page wrote it: only the page reads it. */
  readonly saved: JsonObject;
}

/** A record, and its version in the store. */
export interface StoredChat {
  readonly record: ChatRecord;
  /** 1 for a new record; each `put` adds 1. */
  readonly version: number;
}

/**
 * Stores the chats of a service.
 *
 * Each function returns a cold Observable that emits one value. A store may answer late, and in any order; two services
 * may use one store at the same time. `chatStoreContract` in `rivulet/testing` has the checks for an implementation.
 */
export interface ChatStore {
  /** The record with an id; undefined if there is none. */
  get(id: string): Observable<StoredChat | undefined>;
  /**
   * Writes a record if the store has exactly the named version of it, in one atomic step.
   *
   * @param record The record. It replaces the one with the same id.
   * @param version The version that it replaces; 0: there must be none. The new version is `version + 1`.
   * @returns Whether it was written. False: another version is there.
   */
  put(record: ChatRecord, version: number): Observable<boolean>;
  /** Deletes a record if the store has this version of it. Returns whether it did. */
  delete(id: string, version: number): Observable<boolean>;
  /**
   * The chats of an owner, without their content: the one that was changed last comes first. A chat that is changed
   * while the pages are read may be missing in them, since it moves to the first page.
   *
   * @param cursor `next` of the page before. Default: the first page.
   */
  list(owner: string, cursor?: string): Observable<ChatPage>;
}

/** What the chats use of their service. */
export interface ChatService {
  /** Reads the body of a request. It fails with a RequestError 413 if it is too large. */
  readBody(request: Request, maxBytes: number): Observable<string>;
  /** Stops and deletes a run of an owner, and the runs that it resumed. */
  deleteRun(id: string, owner: string): Observable<never>;
  /** Reports an error that the client does not see. */
  readonly onError: (thrown: unknown) => void;
}

/** The chats of the users of a service: what `keepChats` of `rivulet/service` returns. */
export interface ServiceChats<C = unknown> {
  readonly store: ChatStore;
  /** Answers a request for chats. A RequestError is the answer, too. */
  readonly answer: (request: Request, client: Client<C>, service: ChatService) => Observable<Response>;
}
