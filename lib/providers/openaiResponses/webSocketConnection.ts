import { asyncScheduler, Subscription } from 'rxjs';
import { optionsError } from '../../core/errors.js';
import { isRecord, nonEmptyString, objectOrEmpty, parseJsonOrText } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { words } from '../../core/words.js';
import { endEvents } from './finish.js';
import { isUserMessage, Steering, userMessageOf } from './steering.js';
import { createExchange, isError, isNotJson, type Exchange } from './webSocketExchange.js';
import { FrameOwner, idOf } from './webSocketOwner.js';
import { encodeJson } from '../../protocol/encodeOnce.js';
import { MAX_TIMER_DELAY } from '../../core/options.js';

/** Browsers, Node, Bun, Deno and the package `ws` have it. */
export interface WebSocketLike {
  send(data: string): void;
  close(): void;
  /** Ends the connection at once, also what is still to be sent. Those of Bun and of the package `ws` have it. */
  terminate?(): void;
  /** The types of the handlers differ from one environment to another. */
  onopen: unknown;
  onmessage: unknown;
  onerror: unknown;
  onclose: unknown;
}

/** OpenAI closes a connection after 60 minutes (guide "WebSocket Mode"); an older one begins no response. */
const MAX_AGE = 3_300_000;

/** Milliseconds. After a steered response, the server answers by itself, and nobody may read the answer. */
const STEERED_IDLE = 1_000;

/** Milliseconds. Then another connection is used: a server that does not know the input ignores it. */
const ACKNOWLEDGEMENT_TIME = 5_000;

/** Milliseconds. A server that sends an earlier response once more begins the requested one within this time. */
const REPEAT_TIME = 1_000;

/** Characters of a response that nobody has requested yet. Then another connection is used. */
const MAX_EARLY = 1_000_000;

const steeringEvents: ReadonlySet<unknown> = /* @__PURE__ */ words(
  'response.steer.accepted response.steer.pending response.steer.failed',
);

export type Send = (body: JsonObject, signal: AbortSignal | undefined) => Promise<Response>;

export interface ConnectionOptions {
  readonly key: string;
  readonly idle: number;
  readonly maxEventLength: number;
  readonly onClose: () => void;
  readonly sendElsewhere: Send;
  /** The server has begun two responses with the same id, of which one may be that of another user. */
  readonly onRepeatedId: () => void;
}

export class Connection {
  /** Its last response is still in the server's memory for this connection. */
  private readonly owner = new FrameOwner();
  private isStored = false;
  private exchange: Exchange | undefined;
  /** Whether the server has the request of the exchange, or is to begin its response by itself. */
  private isAsked = false;
  private isClosed = false;
  private readonly opened: Promise<void>;
  private readonly until = asyncScheduler.now() + MAX_AGE;
  private idleTimer = Subscription.EMPTY;
  private abortListener = Subscription.EMPTY;
  private readonly steering = new Steering();
  /** A request waits until the server has acknowledged the input before it. */
  private isClaimed = false;
  /** Events of the response that the server began before it was requested. */
  private early: string[] = [];
  private earlyLength = 0;
  /** The request that the server answers by itself, until the first event of the answer. */
  private expected: JsonObject | undefined;

  constructor(
    private readonly socket: WebSocketLike,
    private readonly options: ConnectionOptions,
  ) {
    this.opened = new Promise((resolve) => (socket.onopen = () => resolve()));
    socket.onmessage = ({ data }: { readonly data: unknown }) => this.receive(String(data));
    socket.onerror = (event: unknown) => this.end(messageOf(event));
    socket.onclose = (event: unknown) => this.end(messageOf(event));
  }

  get key(): string {
    return this.options.key;
  }

  /** After a steered response, the connection can send only the next request. */
  isFreeFor(previous: unknown): boolean {
    const isFree = !this.isClosed && !this.exchange && !this.isClaimed;
    return isFree && (!this.steering.isActive || this.has(previous));
  }

  has(response: unknown): boolean {
    return response !== undefined && this.owner.response === response;
  }

  receives(response: string): boolean {
    return this.exchange !== undefined && this.has(response);
  }

  /** The next request contains the input too. */
  steer(response: string, content: readonly JsonValue[]): void {
    if (!this.isStored) {
      throw optionsError(
        'A response that is not stored cannot be steered.',
        'Pass session: true: openai(name, { fetch: sockets.fetch, session: true }).',
      );
    }
    this.steering.add(content);
    const input = [userMessageOf(content)];
    this.transmit(encodeJson({ type: 'response.steer', previous_response_id: response, input }));
  }

  /** Resolves with the first event, as `fetch` does with the status. */
  request(body: JsonObject, signal: AbortSignal | undefined): Promise<Response> {
    this.idleTimer.unsubscribe();
    if (!this.steering.isActive) return this.startExchange(signal, () => this.send(body));
    this.isClaimed = true;
    this.closeAfter(ACKNOWLEDGEMENT_TIME);
    const abort = () => this.close();
    signal?.addEventListener('abort', abort, { once: true });
    return new Promise((resolve) => {
      this.steering.afterAcknowledgement(() => {
        this.idleTimer.unsubscribe();
        signal?.removeEventListener('abort', abort);
        resolve(this.continueSteered(body, signal));
      });
    });
  }

  close(reason = 'It was closed.'): void {
    const { socket } = this;
    const isLeft = this.exchange !== undefined || this.isClaimed;
    this.end(reason);
    // A close frame is sent after the request: the model would be asked.
    if (isLeft && socket.terminate) socket.terminate();
    else socket.close();
  }

  /** Sends what the server lacks, or waits for the response that it begins by itself. */
  private continueSteered(body: JsonObject, signal: AbortSignal | undefined): Promise<Response> {
    this.isClaimed = false;
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    if (this.isClosed) return this.options.sendElsewhere(body, signal);
    if (!this.steering.isActive) return this.startExchange(signal, () => this.send(body));
    const input = this.steering.remove(body['input']);
    if (input?.length === 0) return this.startExchange(signal, () => this.expect(body));
    // The server waits for results of calls. Without any, it has begun a response without the other messages.
    if (input && !input.every(isUserMessage)) return this.startExchange(signal, () => this.send({ ...body, input }));
    this.close();
    return this.options.sendElsewhere(body, signal);
  }

  private startExchange(signal: AbortSignal | undefined, begin: () => void): Promise<Response> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.exchange?.fail(signal?.reason as Error);
        this.close();
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.abortListener = new Subscription(() => signal?.removeEventListener('abort', abort));
      const exchange = createExchange(resolve, reject, () => {
        if (this.exchange === exchange) this.close(); // the connection may have the next response already
      });
      this.exchange = exchange;
      if (signal?.aborted) abort();
      void this.opened.then(() => {
        if (!this.isClosed) begin();
      });
    });
  }

  private send(body: JsonObject): void {
    this.receiveEarly(); // it answers nobody
    this.isAsked = true;
    this.transmit(JSON.stringify({ ...body, type: 'response.create' }));
  }

  /** Some runtimes throw if the server has begun to close the connection, and `onclose` comes later. */
  private transmit(text: string): void {
    try {
      this.socket.send(text);
    } catch (thrown) {
      this.end(messageOf(thrown));
    }
  }

  private expect(body: JsonObject): void {
    this.expected = body;
    this.isAsked = true;
    this.receiveEarly();
  }

  private keepEarly(text: string): void {
    this.early.push(text);
    this.earlyLength += text.length;
    if (this.earlyLength > MAX_EARLY) this.close();
  }

  private receiveEarly(): void {
    this.earlyLength = 0;
    for (const text of this.early.splice(0)) this.receive(text);
  }

  private receive(text: string): void {
    if (this.isClosed) return;
    const isTooLong = text.length > this.options.maxEventLength;
    const event = isTooLong ? {} : objectOrEmpty(parseJsonOrText(text)); // parsing it could block for seconds
    if (steeringEvents.has(event['type'])) this.readSteering(event);
    else if (this.exchange) this.readResponse(this.exchange, text, event);
    else if (isTooLong || isError(event)) this.close();
    else if (this.steering.isActive) this.keepEarly(text);
    else this.owner.begins(event);
  }

  private readSteering(event: JsonObject): void {
    const isRefused = this.steering.acknowledge(event);
    if (isRefused && this.expected) this.send(this.expected);
    if (isRefused) this.expected = undefined;
    if (event['type'] === 'response.steer.pending' && !this.exchange) this.closeAfter(this.options.idle);
  }

  private readResponse(exchange: Exchange, text: string, event: JsonObject): void {
    const isFirst = this.isAsked && !exchange.hasBegun;
    if (isFirst && this.owner.repeats(event)) this.closeUnlessOther(idOf(event['response']));
    const isFailure = text.length > this.options.maxEventLength || isError(event) || (isFirst && isNotJson(text));
    const isOwn = isFailure || this.isOfResponse(exchange, event);
    if (isOwn && this.owner.loses(event)) this.close('The response has items that it has not announced.');
    if (!isOwn || this.isClosed) return;
    // The reader of the body has the same limit, and the error.
    exchange.next(text.slice(0, this.options.maxEventLength + 1), event);
    if (!isFailure && !endEvents.has(event['type'])) return;
    this.abortListener.unsubscribe();
    exchange.end();
    this.exchange = undefined;
    this.isAsked = false;
    // After a failure, nobody knows what the server still sends; without announcements, whose the next events are.
    if (isFailure || !this.owner.isAnnounced || asyncScheduler.now() > this.until) this.close();
    else this.closeAfter(this.steering.isActive ? STEERED_IDLE : this.options.idle);
  }

  private isOfResponse({ hasBegun }: Exchange, event: JsonObject): boolean {
    const begins = this.owner.begins(event, hasBegun) && this.isAsked;
    if (begins && hasBegun) this.close(); // items do not say to which of two responses they belong
    if (hasBegun || !begins) return hasBegun && this.owner.owns(event);
    this.idleTimer.unsubscribe();
    this.owner.begin(event);
    this.isStored = objectOrEmpty(event['response'])['store'] !== false;
    this.expected = undefined;
    return this.owner.owns(event);
  }

  /** An earlier response is sent once more, or the server gives the same id to all: then no other one begins. */
  private closeUnlessOther(id: unknown): void {
    if (!this.idleTimer.closed) return;
    this.closeAfter(REPEAT_TIME, () => {
      this.options.onRepeatedId();
      this.close(`The server began two responses with the id ${JSON.stringify(id)}.`);
    });
  }

  private closeAfter(time: number, close = () => this.close()): void {
    this.idleTimer.unsubscribe();
    this.idleTimer = asyncScheduler.schedule(close, Math.min(time, MAX_TIMER_DELAY));
  }

  private end(reason: string): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.idleTimer.unsubscribe();
    this.abortListener.unsubscribe();
    this.options.onClose();
    const { exchange } = this;
    this.exchange = undefined;
    // The errors that contain it end the sentence.
    exchange?.fail(new TypeError(`The WebSocket ended. ${reason}`.trim().replace(/\.$/, '')));
    this.steering.clear();
  }
}

function messageOf(event: unknown): string {
  const { message, reason, code } = isRecord(event) ? event : {};
  const text = nonEmptyString(message) ?? nonEmptyString(reason);
  return text ?? (code === undefined ? '' : `Its code is ${JSON.stringify(code)}.`);
}
