import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { defined, isJsonObject, textOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import { listOf } from '../shared/values.js';
import { createPartialArguments } from './partialArguments.js';
import type { PartialArguments } from './partialArguments.js';
import { own } from './own.js';

/** Reads the `functionCall` parts of one answer. */
export interface CallReader {
  /**
   * A part's call.
   *
   * @param call The `functionCall`.
   * @param signature The part's `thoughtSignature`.
   */
  read(call: JsonObject, signature: string | undefined): void;
  /** The answer has ended. If it was not cut, the last call is whole. */
  end(cut: boolean): void;
}

/** A call whose end is not known yet. */
interface Open {
  /** Its place among the calls: the wire has none, but says where the next one begins. */
  readonly index: number;
  readonly name: string | undefined;
  readonly id: string | undefined;
  /** What must go back with it. Said whole each time: fragments are joined without looking into it. */
  data: JsonObject;
  /** `willContinue` was seen, so that its absence means the end. */
  marked: boolean;
  partial: PartialArguments | undefined;
}

/**
 * A part with a name and arguments is a whole call (API reference, `FunctionCall`). Two forms come in several parts, of which only the first has a
 * name: arguments at JSON paths (`partialArgs`, until `willContinue` is gone or a bare `functionCall: {}` comes), and, from gateways, a name with
 * empty arguments and then the arguments. So a call without arguments is whole only when the next one begins or the answer ends.
 *
 * Arguments at paths are given on when they are whole: half an object looks like a whole one, and must not run when the answer is cut.
 */
export function createCallReader(tell: (chunk: Chunk) => void): CallReader {
  let open: Open | undefined;
  let count = 0;

  const say = (fields: Omit<ToolCallFragment, 'type'>, { index, id, data }: Open) => {
    const providerData = Object.keys(data).length > 0 ? { providerData: own(data) } : {};
    tell({ type: 'toolCallFragment', index, ...(id === undefined ? {} : { id }), ...fields, ...providerData });
  };
  const close = () => {
    if (open) say({ ...defined({ arguments: open.partial?.value() }), done: true }, open);
    open = undefined;
  };

  return {
    read(call, signature) {
      const [id, name] = [textOf(call['id']), textOf(call['name'])];
      const args = argumentsIn(call['args']);
      const partials = listOf(call['partialArgs']);
      const continues = call['willContinue'] === true;
      const data = { ...(id === undefined ? {} : { id }), ...(signature === undefined ? {} : { thoughtSignature: signature }) };
      let current = open && goesOn(open, id, name) ? open : undefined;
      if (current) current.data = { ...current.data, ...data };
      else if (name === undefined && id === undefined && args === undefined && partials.length === 0) return;
      else {
        close();
        current = { index: count++, name, id, data, marked: false, partial: undefined };
        if (name !== undefined && args !== undefined && partials.length === 0 && !continues) {
          say({ name, arguments: args, done: true }, current);
          return;
        }
        open = current;
        if (name !== undefined) say({ name }, current);
      }
      const ended = current.marked && !continues;
      current.marked ||= continues;
      if (partials.length > 0) current.partial ??= createPartialArguments();
      if (current.partial && isJsonObject(args)) current.partial.merge(args);
      else if (args !== undefined) say({ arguments: args }, current);
      for (const partial of partials) current.partial?.add(partial);
      const bare = name === undefined && args === undefined && partials.length === 0 && !continues;
      if (ended || bare) close();
    },
    end(cut) {
      if (!cut) close();
    },
  };
}

/** Without a name a part can only continue; with one, if the call said that it would, or by its id. */
function goesOn(open: Open, id: string | undefined, name: string | undefined): boolean {
  const sameId = id !== undefined && id === open.id;
  if (name === undefined) return id === undefined || open.id === undefined || sameId;
  return name === open.name && (sameId || (open.marked && (id === undefined || open.id === undefined)));
}

/** Arguments that say something: an object, or its JSON text from gateways. */
function argumentsIn(args: unknown): JsonObject | string | undefined {
  if (isJsonObject(args)) return Object.keys(args).length > 0 ? args : undefined;
  if (args === undefined || args === null) return undefined;
  return textOf(args) ?? (typeof args === 'string' ? undefined : JSON.stringify(args));
}
