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

const hasHalf = (text: string): boolean => text.search(half) >= 0;
