import type { StreamEvent } from './event.js';
import { asKnownEvent } from './eventGuards.js';

const half = /\p{Surrogate}/gu;

/** A provider may send the halves of a pair in two deltas. A lonely half becomes U+FFFD, as in every encoding. */
export function joinHalves<E extends StreamEvent>(emit: (event: E) => void): (event: E) => void {
  /** Cut to the first half of a pair, with which the delta ends. */
  let held: (E & { readonly text: string }) | undefined;
  return (event) => {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
      case 'thinking':
        break;
      case 'metadata': // these have no position in the text
      case 'retry':
        emit(event);
        return;
      case 'retract':
        held = undefined;
        emit(event);
        return;
      default:
        release();
        emit(event);
        return;
    }
    if (held && held.type !== known.type) release();
    const before = held?.text ?? '';
    held = undefined;
    if (before === '' && !hasHalf(known.text)) {
      emit(event); // nearly every delta
      return;
    }
    const text = before + known.text;
    const isCut = isFirstHalf(text.charCodeAt(text.length - 1));
    if (isCut) held = { ...event, text: text.slice(-1) };
    const whole = (isCut ? text.slice(0, -1) : text).replace(half, '\ufffd');
    if (whole !== '') emit({ ...event, text: whole });
  };

  function release(): void {
    const last = held;
    held = undefined;
    if (last) emit({ ...last, text: '\ufffd' });
  }
}

const isFirstHalf = (code: number): boolean => (code & 0xfc00) === 0xd800;

/** A loop first: a regular expression takes as long as all else that happens to a short delta (measured). */
function hasHalf(text: string): boolean {
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xf800) === 0xd800) return text.search(half) >= 0;
  return false;
}
