import { nanoid } from 'nanoid/non-secure';
import type { FinishReason, ToolCallFragment } from '../../core/chunk.js';
import { optionsError } from '../../core/errors.js';
import type { ToolCallEvent } from '../../core/event.js';
import type { UsedIds } from '../../core/usedIds.js';
import { isEmptyFragment, PendingToolCall } from './pendingToolCall.js';
import * as rules from './fragmentRules.js';
import { requireSync } from '../../core/options.js';

export interface AccumulateOptions {
  /** Ids that a new call must not reuse; a function is called at the first call. Default: none. */
  readonly usedIds?: Iterable<string> | UsedIds | (() => Iterable<string> | UsedIds);
  /** Creates the id of a call without one; `nanoid` if it only returns used ids, or ids with `/`. Default: `nanoid`. */
  readonly newId?: () => string;
}

const none: readonly ToolCallEvent[] = [];

/** With any other reason, the model may not have completed its last call. */
const endsCalls: ReadonlySet<FinishReason> = new Set(['stop', 'toolCalls', 'unspecified']);

/** After so many attempts, `nanoid` generates the id: a constant id must not hang. */
const MAX_ATTEMPTS = 100;

class TurnCalls {
  readonly all: PendingToolCall[] = [];
  readonly byId = new Map<string, PendingToolCall>();
  readonly byIndex = new Map<ToolCallFragment['index'], PendingToolCall>();
  readonly usedIds = new Set<string>();
  readonly events: ToolCallEvent[] = [];
  takenCount = 0;
  private readonly previews = new Map<ToolCallFragment['index'], PendingToolCall>();
  private count = 0;

  open(index: number | string | undefined, original?: PendingToolCall): PendingToolCall {
    const previous = this.all.at(-1);
    if (!original && previous?.isClosedBefore(index)) previous.isDone = true;
    const preview = this.previews.get(index);
    this.previews.delete(index);
    const call = new PendingToolCall(index, preview?.position ?? this.count++, original, preview);
    this.all.push(call);
    return call;
  }

  /** Only readers see it: it is not a call. */
  addPreview(fragment: ToolCallFragment, id: string): PendingToolCall {
    const { index } = fragment;
    let preview = this.previews.get(index);
    if (!preview) this.previews.set(index, (preview = new PendingToolCall(index, this.count++)));
    preview.append(id, fragment);
    return preview;
  }

  /** Undefined if the fragment opens a call: see the top of `fragmentRules.ts`. */
  continuedCall(fragment: ToolCallFragment, id: string): PendingToolCall | undefined {
    const { index } = fragment;
    const withId = this.byId.get(id);
    const withIndex = this.byIndex.get(index);
    if (withId) {
      if (withIndex?.id === id) return decide(rules.sameCall, withIndex, fragment);
      const isOtherIndex = index !== undefined && withId.index !== undefined && withId.index !== index;
      return decide(isOtherIndex ? rules.otherIndex : rules.sameCall, withId, fragment);
    }
    if (withIndex) return decide(id === '' ? rules.sameCall : rules.newId, withIndex, fragment);
    const current = this.all.at(-1);
    if (!current) return undefined;
    if (index !== undefined) return decide(rules.unusedIndex, current, fragment);
    if (id !== '') return decide(rules.newId, current, fragment);
    return decide(current.id === '' ? rules.noIdOrIndex : rules.sameCall, current, fragment);
  }

  /** Arguments may follow although the call is marked as done (smallmain/vscode-unify-chat-provider#49). */
  isProvisional(call: PendingToolCall): boolean {
    return call.isPlaceholder() && (call.announcedAt !== undefined || (call.id === '' && call === this.all.at(-1)));
  }
}

/** `fragmentRules.ts` decides to which call a fragment belongs. */
export class ToolCallAccumulator {
  private readonly usedIds: NonNullable<AccumulateOptions['usedIds']>;
  private readonly newId: () => string;
  private conversationIds: UsedIds | undefined; // read at the first call
  private earlierIds: Set<string> | undefined; // ids of earlier turns of the source
  private turn: TurnCalls | undefined;
  /** By id. Another call with such an id has another one: an answer to the retracted call is not for it. */
  private readonly retracted = new Map<string, ToolCallEvent>();

  constructor({ usedIds = [], newId = nanoid }: AccumulateOptions = {}) {
    this.usedIds = usedIds;
    this.newId = newId;
  }

  /** Undefined if the fragment adds nothing to any call. */
  addFragment(fragment: ToolCallFragment): PendingToolCall | undefined {
    const turn = (this.turn ??= new TurnCalls());
    // Fragments come from any server and from users' code, so `null` and `"null"` are not ids either.
    const id = fragment.id === 'null' ? '' : (fragment.id ?? '');
    if (fragment.preview) return turn.addPreview(fragment, id);
    let call = turn.continuedCall(fragment, id);
    if (!call) {
      if (id === '' && !fragment.name && isEmptyFragment(fragment)) return undefined;
      call = turn.open(fragment.index);
    } else if (rules.opensTwin(call, fragment)) call = turn.open(fragment.index ?? call.index, call);
    else call.noteAnnouncement(fragment);
    if (fragment.index !== undefined) turn.byIndex.set(fragment.index, call);
    if (call.isEmitted) return undefined;
    call.append(id, fragment);
    if (id !== '') turn.byId.set(id, call);
    return call;
  }

  /** Adds the position of the call in the turn, and its name and id if they are known: long ones once. */
  label(fragment: ToolCallFragment, call: PendingToolCall): ToolCallFragment {
    if (call.uniqueId === '' && call.id !== '' && !this.retracted.has(call.id)) this.assignId(call);
    const { uniqueId: id, name, position: index, wasLabelled } = call;
    // No provider accepts a longer name. In each fragment, a long label would be quadratic.
    const shows = (label: string) => label !== '' && (label.length <= 128 || !wasLabelled);
    call.wasLabelled ||= name !== '';
    return {
      type: 'toolCallFragment',
      index,
      ...(shows(id) ? { id } : {}),
      ...(shows(name) ? { name } : {}),
      ...(fragment.arguments === undefined ? {} : { arguments: call.unseen(fragment.arguments) }),
    };
  }

  /** Each call whose end the provider has marked, once, in the order in which they began. */
  takeDone(): readonly ToolCallEvent[] {
    const { turn } = this;
    let next = turn?.all[turn.takenCount];
    if (!turn || !next?.isDone) return none; // the case for nearly every fragment
    const done: ToolCallEvent[] = [];
    for (; next?.isDone && next.name !== '' && !turn.isProvisional(next); next = turn.all[++turn.takenCount])
      if (!next.isRepeat()) done.push(this.toEvent(next));
    return done;
  }

  finish(reason: FinishReason): readonly ToolCallEvent[] {
    const { turn } = this;
    if (!turn) return none; // the case for nearly every turn without tools
    const isTruncated = !endsCalls.has(reason); // an incomplete call is dropped, never repaired
    const remaining: ToolCallEvent[] = [];
    for (const call of turn.all.slice(turn.takenCount))
      if (call.name !== '' && (!isTruncated || call.isComplete()) && !call.isRepeat())
        remaining.push(this.toEvent(call));
    this.turn = undefined;
    this.retracted.clear();
    if (!this.earlierIds) this.earlierIds = turn.usedIds;
    else for (const id of turn.usedIds) this.earlierIds.add(id);
    return remaining;
  }

  retract(): void {
    for (const event of this.turn?.events ?? []) this.retracted.set(event.id, event);
    this.turn = undefined;
  }

  private toEvent(call: PendingToolCall): ToolCallEvent {
    const retracted = this.retracted.get(call.id);
    if (call.uniqueId === '') this.assignId(call, !retracted || call.isSameAs(retracted));
    const event = call.toEvent();
    this.turn?.events.push(event);
    return event;
  }

  private assignId(call: PendingToolCall, canKeep = true): void {
    this.conversationIds ??= toUsedIds(typeof this.usedIds === 'function' ? this.usedIds() : this.usedIds);
    const id = canKeep && this.isNew(call.id) ? call.id : this.generateId();
    this.turn?.usedIds.add(id);
    call.uniqueId = id;
  }

  private generateId(): string {
    let id = '';
    for (let attempt = 0; !this.isNew(id); attempt++) {
      id = attempt < MAX_ATTEMPTS ? requireSync('newId', this.newId()) : nanoid();
      if (typeof (id as unknown) !== 'string')
        throw optionsError('newId returned no text.', 'Return another text at each call.');
    }
    return id;
  }

  /** An id with a slash may be that of a call inside another call, whose answers are not for this one. */
  private isNew(id: string): boolean {
    return (
      id !== '' &&
      !id.includes('/') &&
      ![this.conversationIds, this.earlierIds, this.turn?.usedIds].some((ids) => ids?.has(id))
    );
  }
}

/** A set is used as it is: copying the ids of a long conversation in each turn would be slow. */
function toUsedIds(ids: Iterable<string> | UsedIds): UsedIds {
  return 'has' in ids ? ids : new Set(ids);
}

function decide(
  list: readonly rules.Rule[],
  call: PendingToolCall,
  fragment: ToolCallFragment,
): PendingToolCall | undefined {
  return rules.continuesCall(list, call, fragment) ? call : undefined;
}
