import type { Chunk } from '../../core/chunk.js';
import { isJsonObject } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import { listOf } from '../shared/values.js';
import { createItems } from './items.js';
import type { Item } from './items.js';
import { provider } from './name.js';
import { createReader } from './reader.js';
import { createServerItems, isServerItem, serverEvent } from './serverItems.js';
import { annotationsIn, filesOf, sourceOf } from './sources.js';
import { textEvent } from './texts.js';

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
    if (item.type === 'function_call') reader.close(item, wire['status'] === 'completed' || (wire['status'] !== 'incomplete' && !cut));
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
      for (const [item, wire] of items.settled(listOf(output).filter(isJsonObject))) snapshot(item, wire, cut);
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
