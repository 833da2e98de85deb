import { objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/** The version of AG-UI that this bridge speaks. */
export const AG_UI_VERSION = '1.0';

/** The metadata of a run that marks its turn ends. `fromAgUi` has to guess them in the runs of other servers. */
export const turnsMark = { rivulet: { turns: true } } as const;

/** The metadata of a call that was cut off, and of its result: they are not part of the conversation. */
export const droppedMark = { rivulet: { failed: true, dropped: true } } as const;

/** Whether an event or a call has this metadata. */
export function isDropped({ metadata }: { readonly metadata?: JsonObject }): boolean {
  return objectOrEmpty(metadata?.['rivulet'])['dropped'] === true;
}
