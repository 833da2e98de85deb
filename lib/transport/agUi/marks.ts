import { objectOrEmpty, type JsonObject } from '../../core/json/json.js';

export const AG_UI_VERSION = '1.0';

/** `fromAgUi` has to guess the turn ends of other servers. */
export const turnsMark = { rivulet: { turns: true } } as const;

/** A call that was cut off, and its result, are not part of the conversation. */
export const droppedMark = { rivulet: { failed: true, dropped: true } } as const;

export function isDropped({ metadata }: { readonly metadata?: JsonObject }): boolean {
  return objectOrEmpty(metadata?.['rivulet'])['dropped'] === true;
}
