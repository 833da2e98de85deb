import { isRecord, tryParseJson } from '../core/json/json.js';
import { marksOf, mergeSaved, type Marks } from './mergeSaved.js';
import { isOfLaterRelease, isSavedConversation, unreadableConversation } from './savedConversation.js';
import type { SavedConversation } from './savedConversation.js';
import { isUnstored, storeSaved } from './smallerSaved.js';

/** What a copy and the service had in common. It is stored, so that a reload knows which of them has changed. */
export interface Common {
  readonly version: number;
  readonly marks: Marks;
  /** The service had something that the copy lacks. */
  readonly isBehind: boolean;
}

/** What the storage has no room for, and what it had then. */
interface Held {
  readonly saved: SavedConversation;
  readonly stored: string | null;
  readonly common: Common | undefined;
}

/** The copies of chats in a storage, and in the page as far as the storage has no room for them. */
export function copyStore(storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>, keyOf: (id: string) => string) {
  const versionKey = (id: string) => `${keyOf(id)} version`;
  const held = new Map<string, Held>();
  const stored = (id: string) => storage.getItem(keyOf(id));
  const read = (id: string): string | null => {
    const text = stored(id);
    const own = held.get(keyOf(id));
    if (!own) return text;
    if (text === own.stored) return JSON.stringify(own.saved);
    const [before, now] = [own.stored, text].map((value) => tryParseJson(value ?? ''));
    if (text === null) held.delete(keyOf(id)); // another tab has removed it
    if (!isSavedConversation(now)) return text;
    const saved = mergeSaved(now, isSavedConversation(before) ? marksOf(before) : {}, own.saved);
    held.set(keyOf(id), { ...own, saved, stored: text });
    return JSON.stringify(saved);
  };
  const common = (id: string): Common | undefined => {
    const value = held.get(keyOf(id))?.common ?? tryParseJson(storage.getItem(versionKey(id)) ?? '');
    return isRecord(value) && isRecord(value['marks']) ? (value as unknown as Common) : undefined;
  };
  /** A value that was written, here or by `persist`, is held if the storage had no room for it. */
  const hold = (id: string, saved: SavedConversation): void => {
    if (isUnstored(saved)) held.set(keyOf(id), { saved, stored: stored(id), common: common(id) });
    else held.delete(keyOf(id));
  };
  return {
    read,
    common,
    hold,
    saved(id: string): SavedConversation | undefined {
      const copy: unknown = tryParseJson(read(id) ?? '');
      if (isOfLaterRelease(copy)) throw unreadableConversation(copy);
      return isSavedConversation(copy) ? copy : undefined;
    },
    write(id: string, saved: SavedConversation): void {
      storeSaved(storage, keyOf(id), saved);
      hold(id, saved);
    },
    /** For the next page, what they had in common before is still right, and compares more. */
    setCommon(id: string, value: Common, copy: SavedConversation): void {
      const own = held.get(keyOf(id));
      if (own) return void held.set(keyOf(id), { ...own, common: value });
      try {
        storage.setItem(versionKey(id), JSON.stringify(value));
      } catch {
        held.set(keyOf(id), { saved: copy, stored: stored(id), common: value });
      }
    },
    remove(id: string): void {
      held.delete(keyOf(id));
      storage.removeItem(keyOf(id));
      storage.removeItem(versionKey(id));
    },
  };
}
