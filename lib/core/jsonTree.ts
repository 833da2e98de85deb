import type { JsonValue } from './json.js';

type Container = JsonValue[] | Record<string, JsonValue>;

/** An array that is being read, and how many of its first elements are finished. */
export interface JsonList {
  readonly values: readonly JsonValue[];
  readonly finished: number;
}

/** A JSON value while it is built. What is closed is never changed again; what is open is copied into each snapshot. */
export interface JsonTree {
  /** How many containers are open. */
  depth(): number;
  /** Whether the innermost open container is an array. */
  inList(): boolean;
  /** Names what comes next in the open object. */
  key(key: string): void;
  /** Puts a finished string, number or literal where it belongs. */
  scalar(value: JsonValue): void;
  open(container: Container): void;
  close(): void;
  /**
   * What has come so far. The same object as before, if nothing came since.
   *
   * @param text The text so far of the string that is being read; undefined: none is.
   */
  snapshot(text: string | undefined): JsonValue | undefined;
  /** What the next snapshot costs, in about the copies of one reference. */
  weight(): number;
  /** The array at the path; without one, the array at the root, or the first in a property of the root. */
  list(path?: readonly string[]): JsonList | undefined;
}

/** Measured, Node 20: a key of an object costs some eight times an element of an array to copy, and so does beginning a copy. */
const KEY = 8;
const COPY = 8;

export function createJsonTree(): JsonTree {
  const opened: Container[] = [];
  const keys: string[] = []; // by depth: the key that is being filled
  const weights: number[] = []; // by depth: what a copy costs
  let root: JsonValue | undefined;
  let top: Container | undefined;
  let topList: JsonValue[] | undefined;
  let topKey = '';
  let weight = 0;
  let first: { readonly list: readonly JsonValue[]; readonly depth: number } | undefined;
  let changed = false;
  let last: JsonValue | undefined;
  let lastText: string | undefined;

  const attach = (value: JsonValue) => {
    changed = true;
    if (topList) {
      topList.push(value);
      weight++;
    } else if (top) {
      put(top as Record<string, JsonValue>, topKey, value);
      weight += KEY;
    } else root = value;
  };

  const copies = (text: string | undefined): JsonValue | undefined => {
    const innermost = opened.length - 1;
    let inner: JsonValue | undefined = text;
    for (let depth = innermost; depth >= 0; depth--) {
      const container = opened[depth];
      if (Array.isArray(container)) {
        const copy = container.slice();
        // An open container is already in the one around it, an open string is not.
        if (inner !== undefined) copy[depth === innermost ? copy.length : copy.length - 1] = inner;
        inner = copy;
      } else {
        const copy = { ...container };
        if (inner !== undefined) put(copy, depth === innermost ? topKey : (keys[depth] ?? ''), inner);
        inner = copy;
      }
    }
    return inner ?? root;
  };

  const listAt = (list: unknown, depth: number): JsonList | undefined =>
    Array.isArray(list)
      ? { values: list as readonly JsonValue[], finished: opened[depth] === list && opened.length > depth + 1 ? list.length - 1 : list.length }
      : undefined;

  return {
    depth: () => opened.length,
    inList: () => topList !== undefined,
    key(key) {
      topKey = key;
    },
    scalar: attach,
    open(container) {
      attach(container);
      const depth = opened.length;
      const isList = Array.isArray(container);
      if (isList && (depth === 0 || (depth === 1 && !topList))) first ??= { list: container, depth };
      if (depth > 0) keys[depth - 1] = topKey;
      opened.push(container);
      weights.push(weight);
      weight += COPY;
      top = container;
      topList = isList ? container : undefined;
    },
    close() {
      changed = true; // an equal copy may have been given out: what is closed is the very object that stays
      opened.pop();
      weight = weights.pop() ?? 0;
      const depth = opened.length - 1;
      top = opened[depth];
      topList = Array.isArray(top) ? top : undefined;
      topKey = keys[depth] ?? '';
    },
    snapshot(text) {
      if (changed || text !== lastText) last = copies(text);
      lastText = text;
      changed = false;
      return last;
    },
    weight: () => weight,
    list(path) {
      if (!path) return first && listAt(first.list, first.depth);
      const found = path.reduce<unknown>((value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined), root);
      return listAt(found, path.length);
    },
  };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** `__proto__` is an ordinary key, as for `JSON.parse`. */
function put(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}
