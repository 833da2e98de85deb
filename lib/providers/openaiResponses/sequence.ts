import { finiteNumber, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/** Gateways that reconnect send events again. Some servers' numbers do not rise: such numbers do not count. */
export class Sequence {
  last: number | undefined;
  private isReliable = true;

  add(event: JsonObject): void {
    const number = finiteNumber(event['sequence_number']);
    if (number !== undefined && (this.last === undefined || number > this.last)) this.last = number;
  }

  /** An event after the first one: the first number is 0. */
  isAfterStart(event: JsonObject): boolean {
    return (finiteNumber(event['sequence_number']) ?? 0) > 0;
  }

  isRepeated(event: JsonObject, hasItem: (id: string) => boolean): boolean {
    const number = finiteNumber(event['sequence_number']);
    if (number === undefined || !this.isReliable) return false;
    const { last } = this;
    if (last === undefined || number > last) {
      this.last = number;
      return false;
    }
    const id = nonEmptyString(event['item_id']) ?? nonEmptyString(objectOrEmpty(event['item'])['id']);
    const mayBeRepeated = last >= MINIMUM_REPLAY && (id === undefined || hasItem(id));
    if (!mayBeRepeated) this.isReliable = false;
    return mayBeRepeated;
  }
}

/** A server that sends one number in all events sends 0 or 1. */
const MINIMUM_REPLAY = 2;
