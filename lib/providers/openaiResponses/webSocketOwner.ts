import { asArray, nonEmptyString, objectOrEmpty, type JsonObject } from '../../core/json/json.js';
import { endEvents } from './finish.js';

const firstEvents: ReadonlySet<unknown> = new Set(['response.created', 'response.queued', 'response.in_progress']);

/**
 * Decides which frames of a connection belong to its current response. A frame names its response, its item or
 * neither. Many servers give the items of each response the same ids, and some give responses no ids.
 */
export class FrameOwner {
  /** The current or last response. Undefined: none has begun, or the server has not named it. */
  response: unknown;
  /** Whether the current response announced itself and all that it sent: the next one can be told from it. */
  isAnnounced = false;
  /** How many responses have begun. */
  private begun = 0;
  /** All responses of the connection: whether they were requested. And all announced items. */
  private readonly responses = new Map<unknown, boolean>();
  private readonly known = new Set<unknown>();
  /** Whether an event was ignored whose item no response has announced. */
  private hasIgnored = false;
  /** The items that the current response has announced. */
  private items = new Set<unknown>();
  /** Whether the frames of an item have its announced id. Some servers announce none, or send a new id each time. */
  private namesItems = false;
  /** Another response has sent an event, and not its last one. */
  private isInterleaved = false;
  /** The number of the last frame, and whether all numbers so far were consecutive within their response. */
  private number: unknown;
  private isNumbered = true;

  /**
   * Whether the frame begins another response. One that nobody requested is remembered, since it is never read. The
   * first response of a connection may begin with any event: no other one can have sent it.
   */
  begins({ type, response }: JsonObject, isWithin = false): boolean {
    const id = idOf(response);
    const isBeginning = firstEvents.has(type) || (this.begun === 0 && (isPart(type) || endEvents.has(type)));
    if (!isBeginning || this.responses.has(id)) return false;
    // The current response may be named late, but is not announced twice.
    const mayBeNamed = this.response === undefined && !(this.isAnnounced && type === 'response.created');
    if (isWithin && (id === undefined || mayBeNamed)) return false;
    this.begun++;
    if (id !== undefined) this.responses.set(id, false);
    return true;
  }

  /** Whether the frame begins a response with the id of an earlier one: the next one, or the earlier one again. */
  repeats({ type, response }: JsonObject): boolean {
    return firstEvents.has(type) && this.responses.get(idOf(response)) === true;
  }

  begin(event: JsonObject): void {
    this.response = idOf(event['response']);
    this.isAnnounced = firstEvents.has(event['type']);
    this.number = Number(event['sequence_number']) - 1;
    this.items = new Set();
    this.isInterleaved = false;
    this.hasIgnored = false;
  }

  /** Late frames of another response belong to nobody. No other response can have sent those of the first one. */
  owns(event: JsonObject): boolean {
    const id = idOf(event['response']) ?? event['response_id'];
    const isNamed = id !== undefined;
    const isOther = isNamed && id !== this.response && (this.response !== undefined || this.responses.has(id));
    if (isNamed) this.isInterleaved = isOther && !endEvents.has(event['type']);
    if (isOther) return false;
    const isOwn = this.ownsItem(event) || isNamed;
    if (!isOwn && this.begun > 1) {
      this.hasIgnored ||= !this.known.has(itemOf(event));
      return false;
    }
    if (isNamed) this.responses.set((this.response = id), true);
    this.isAnnounced &&= isOwn && (isNamed || !isPart(event['type']) || itemOf(event) !== undefined);
    this.isNumbered &&= this.isNext(event);
    this.number = event['sequence_number'];
    return true;
  }

  /** Whether the event ends the response without an output, which an ignored event may have been a part of. */
  loses({ type, response }: JsonObject): boolean {
    const isRead = endEvents.get(type)?.includes('complete') === true; // or incomplete
    return this.hasIgnored && isRead && asArray(objectOrEmpty(response)['output']).length === 0;
  }

  private ownsItem(event: JsonObject): boolean {
    const id = itemOf(event);
    const isOwn = id === undefined || this.items.has(id);
    if (event['type'] !== 'response.output_item.added') {
      this.namesItems ||= isOwn && id !== undefined;
      return isOwn || !this.namesItems;
    }
    // The id of an ended response is used again, unless the announcement is seen to be a late one.
    const isLate = this.isInterleaved || (this.isNumbered && !this.isNext(event));
    if (!isOwn && this.known.has(id) && isLate) return false;
    this.known.add(id);
    this.items.add(id);
    return true;
  }

  private isNext(event: JsonObject): boolean {
    return event['sequence_number'] === Number(this.number) + 1;
  }
}

/** Whether an event of this type is of the output, and not of the whole response. */
const isPart = (type: unknown): boolean => /^response\.\w+\./.test(nonEmptyString(type) ?? '');

const itemOf = ({ item, item_id }: JsonObject): unknown => idOf(item) ?? item_id;

export const idOf = (object: unknown): unknown => objectOrEmpty(object)['id'] ?? undefined;
