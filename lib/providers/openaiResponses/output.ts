import type { Chunk } from '../../core/chunk.js';
import { omitUndefined, isJsonObject, asArray, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { createItems } from './items.js';
import type { Item } from './items.js';
import { provider } from './models.js';
import { createServerItems, isServerItem, serverEvent } from './serverItems.js';
import { annotationsIn, filesOf, sourceOf } from './sources.js';
import { saidIn, textEvent, textsOf } from './texts.js';
import type { TextEvent, TextKind } from './texts.js';

/** Turns what events bring of messages, reasoning and calls into chunks, each thing once: a snapshot only adds what no delta brought. */
export interface Reader {
  /** A call has been announced. */
  announce(item: Item): void;
  /** A piece of a text, or a whole one. */
  text(item: Item, event: TextEvent): void;
  /** An item as it is when it is done. */
  snapshot(item: Item, wire: JsonObject): void;
  /** The call is over: nothing more comes of it. */
  close(item: Item, whole: boolean): void;
  readonly refused: boolean;
  /** Whether there was visible text. */
  readonly spoke: boolean;
  /** Whether there was a call for the client. */
  readonly called: boolean;
  /** Whether the texts of two messages came in turns, so that a message's text is no longer one piece of the whole. */
  readonly tangled: boolean;
}

/** A reader that has read nothing. */
export function createReader(emit: (chunk: Chunk) => void): Reader {
  const named = new Set<Item>();
  const closed = new Set<Item>();
  let refused = false;
  let called = false;
  let tangled = false;
  let speaking: Item | undefined;
  const spoken = new Set<Item>();

  const say = (item: Item, kind: TextKind, index: number, text: string) => {
    if (text === '') return;
    const of = item.said.get(kind) ?? new Map<number, string>();
    item.said.set(kind, of.set(index, (of.get(index) ?? '') + text));
    if (kind === 'arguments') emit({ type: 'toolCallFragment', index: item.key, arguments: text });
    else if (kind === 'summary' || kind === 'reasoning') emit({ type: 'thinking', text });
    else {
      refused ||= kind === 'refusal';
      tangled ||= speaking !== item && spoken.has(item);
      speaking = item;
      spoken.add(item);
      emit({ type: 'text', text });
    }
  };
  /** What a whole text has beyond what was said of it. One that contradicts adds nothing, but for a placeholder of arguments. */
  const complete = (item: Item, kind: TextKind, index: number, text: string) => {
    const before = item.said.get(kind)?.get(index) ?? '';
    if (before === '' && saidIn(item.said, kind) === text) return; // it was said, under another index
    if (text.startsWith(before)) say(item, kind, index, text.slice(before.length));
    else if (kind === 'arguments' && /^\s*(\{\s*\}|null)\s*$/.test(before)) say(item, kind, index, text);
  };
  const announce = (item: Item, wire: JsonObject | undefined) => {
    called = true;
    const name = nonEmptyString(wire?.['name']);
    item.callId ??= nonEmptyString(wire?.['call_id']);
    if (named.has(item) || (name === undefined && item.callId === undefined)) return;
    if (name !== undefined) named.add(item);
    const { key: index, callId: id } = item;
    emit({ type: 'toolCallFragment', index, ...omitUndefined({ id, name }) });
  };

  return {
    announce: (item) => announce(item, item.opened),
    text(item, { kind, index, text, whole }) {
      if (kind === 'arguments') called = true;
      (whole ? complete : say)(item, kind, index, text);
    },
    snapshot(item, wire) {
      if (item.type === 'function_call') announce(item, wire);
      for (const [kind, texts] of textsOf(wire)) {
        if (texts.join('') !== saidIn(item.said, kind))
          texts.forEach((text, index) => complete(item, kind, index, text));
      }
    },
    close(item, whole) {
      if (closed.has(item)) return;
      closed.add(item);
      const providerData = item.id === undefined ? undefined : { [provider]: { id: item.id } };
      const done = whole || undefined;
      if (done || providerData)
        emit({ type: 'toolCallFragment', index: item.key, ...omitUndefined({ done, providerData }) });
    },
    get refused() {
      return refused;
    },
    get spoke() {
      return spoken.size > 0;
    },
    get called() {
      return called;
    },
    get tangled() {
      return tangled;
    },
  };
}

/** The output of one answer: its items, turned into chunks as they come. */
export interface Output {
  readonly items: readonly Item[];
  readonly refused: boolean;
  readonly called: boolean;
  readonly tangled: boolean;
  /** Whether something was emitted that becomes a part of the message. */
  readonly visible: boolean;
  /** Takes an event about an item or a part of one; any other is ignored. */
  event(type: string, event: JsonObject): void;
  /** Takes the output of a whole response: what had not come yet is emitted. In one that was `cut`, only a call that says so is whole. */
  response(output: unknown, cut: boolean): void;
  /** The answer is over: what was held or only announced is emitted. */
  settle(): void;
}

/** An output of which nothing has come. */
export function createOutput(emit: (chunk: Chunk) => void): Output {
  const items = createItems();
  const reader = createReader(emit);
  const server = createServerItems((fact) => emit({ type: 'metadata', metadata: { [provider]: fact } }));
  const known = new Set<string>();

  const once = (key: string, chunk: Chunk) => {
    if (known.has(key)) return;
    known.add(key);
    emit(chunk);
  };
  const cite = (holder: JsonObject) => {
    for (const annotation of annotationsIn(holder)) {
      const found = sourceOf(annotation);
      if (found) once(found.key, { type: 'source', source: found.source });
    }
  };
  const announce = (item: Item) => {
    if (item.type === 'function_call') reader.announce(item);
    else if (isServerItem(item.type)) server.announce(item);
  };
  const snapshot = (item: Item, wire: JsonObject, cut = false) => {
    reader.snapshot(item, wire);
    if (item.type === 'message') cite(wire);
    if (isServerItem(item.type)) server.snapshot(item, wire);
    for (const { key, file } of filesOf(wire)) once(key, { type: 'file', file });
    item.whole = wire;
    if (item.type === 'function_call')
      reader.close(item, wire['status'] === 'completed' || (wire['status'] !== 'incomplete' && !cut));
  };
  const part = (type: string, event: JsonObject) => {
    const text = textEvent(type, event);
    if (text) reader.text(items.about(text.item, event), text);
    if (type === 'response.output_text.annotation.added' || text?.item === 'message') cite(event);
    const progress = text ? undefined : serverEvent(type);
    if (progress) server.progress(items.about(progress.item, event), progress.step, event);
  };

  return {
    items: items.all,
    get refused() {
      return reader.refused;
    },
    get called() {
      return reader.called;
    },
    get tangled() {
      return reader.tangled;
    },
    get visible() {
      return reader.spoke || reader.called || known.size > 0;
    },
    event(type, event) {
      const { item } = event;
      if (!isJsonObject(item)) part(type, event);
      else if (type === 'response.output_item.added') announce(items.announced(item, event));
      else if (type === 'response.output_item.done') snapshot(items.ended(item, event), item);
    },
    response(output, cut) {
      for (const [item, wire] of items.settled(asArray(output).filter(isJsonObject))) snapshot(item, wire, cut);
    },
    settle() {
      for (const item of items.all.filter(({ whole }) => !whole)) {
        if (item.opened) reader.snapshot(item, item.opened);
        if (item.type === 'function_call') reader.close(item, false);
        server.settle(item);
      }
    },
  };
}
