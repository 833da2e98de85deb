import { objectOrEmpty, type JsonObject } from '../../core/json/json.js';
import { endEvents } from './finish.js';

const firstEvents: ReadonlySet<unknown> = new Set(['response.created', 'response.queued', 'response.in_progress']);

/**
 * Decides which frames of a connection belong to its current response. A frame names its response, its item or
 * neither. Many servers give the items of each response the same ids, and some give responses no ids.
 */
export class FrameOwner {
  /** The current or last response. Undefined: none has begun, or the server has not named it. */
  response: unknown;
  /** Whether the current response began with a first event. Some servers send none. */
  isAnnounced = false;
  /** Whether no response has sent an event yet. */
  private isNew = true;
  /** All responses of the connection: whether they were requested. And all announced items. */
  private readonly responses = new Map<unknown, boolean>();
  private readonly known = new Set<unknown>();
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
  begins(event: JsonObject, isWithin = false): boolean {
    const id = idOf(event['response']);
    const isBeginning = firstEvents.has(event['type']) || (this.isNew && isPart(event));
    this.isNew &&= !isBeginning;
    if (!isBeginning || this.responses.has(id)) return false;
    if (id !== undefined) this.responses.set(id, false);
    return id !== undefined || !isWithin;
  }

  /** Whether the frame begins a response with the id of an earlier one: the next one, or the earlier one again. */
  repeats({ type, response }: JsonObject): boolean {
    return firstEvents.has(type) && this.responses.get(idOf(response)) === true;
  }

  begin(event: JsonObject): void {
    this.response = idOf(event['response']);
    if (this.response !== undefined) this.responses.set(this.response, true);
    this.isAnnounced = firstEvents.has(event['type']);
    this.number = Number(event['sequence_number']) - 1;
    this.items = new Set();
    this.isInterleaved = false;
  }

  /** Late frames of another response belong to nobody. */
  owns(event: JsonObject): boolean {
    const id = idOf(event['response']) ?? event['response_id'];
    const isOther = id !== undefined && this.response !== undefined && id !== this.response;
    if (id !== undefined) this.isInterleaved = isOther && !endEvents.has(event['type']);
    if (isOther || (!this.ownsItem(event) && id === undefined)) return false;
    this.isNumbered &&= this.isNext(event);
    this.number = event['sequence_number'];
    return true;
  }

  private ownsItem(event: JsonObject): boolean {
    const { type, item, item_id } = event;
    const id = idOf(item) ?? item_id;
    const isOwn = id === undefined || this.items.has(id);
    if (type !== 'response.output_item.added') {
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

/** Whether the event is of an item, or the end of a response. */
const isPart = ({ type, item, item_id, output_index }: JsonObject): boolean =>
  endEvents.has(type) || (item ?? item_id ?? output_index) !== undefined;

export const idOf = (object: unknown): unknown => objectOrEmpty(object)['id'] ?? undefined;
