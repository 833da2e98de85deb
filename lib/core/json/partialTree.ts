import type { JsonValue } from './json.js';

type Container = JsonValue[] | Record<string, JsonValue>;

/** An array that is being read, and how many of its first elements are finished. */
export interface JsonList {
  readonly values: readonly JsonValue[];
  readonly finished: number;
}

/** Measured, Node 20: a key of an object costs some eight times an element of an array to copy, and so does beginning a copy. */
const KEY = 8;
const COPY = 8;

/**
 * A JSON value while it is built. What is closed is never changed again; what is open is copied into each snapshot.
 *
 * A class, since a character of JSON costs a call or two: functions that are made anew for each value are optimised anew, too.
 */
export class JsonTree {
  /** The innermost open container, if it is an array. */
  topList: JsonValue[] | undefined;
  /** The key of what comes next in the open object. */
  key = '';
  /** What the next snapshot costs, in about the copies of one reference. */
  weight = 0;
  /** How many containers are open. */
  depth = 0;
  private top: Container | undefined;
  private root: JsonValue | undefined;
  private readonly opened: Container[] = [];
  private readonly keys: string[] = []; // by depth: the key that is being filled
  private readonly weights: number[] = []; // by depth: the weight of what is around
  private first: { readonly list: readonly JsonValue[]; readonly depth: number } | undefined;
  private changed = false;
  private last: JsonValue | undefined;
  private lastText: string | undefined;

  /** Puts a value where it belongs: a finished string, number or literal. */
  add(value: JsonValue): void {
    this.changed = true;
    if (this.topList) {
      this.topList.push(value);
      this.weight++;
    } else if (this.top) {
      put(this.top as Record<string, JsonValue>, this.key, value);
      this.weight += KEY;
    } else this.root = value;
  }

  open(container: Container): void {
    this.add(container);
    const isList = Array.isArray(container);
    if (isList && (this.depth === 0 || (this.depth === 1 && !this.topList)))
      this.first ??= { list: container, depth: this.depth };
    if (this.depth > 0) this.keys[this.depth - 1] = this.key;
    this.opened.push(container);
    this.weights.push(this.weight);
    this.weight += COPY;
    this.depth++;
    this.top = container;
    this.topList = isList ? container : undefined;
  }

  close(): void {
    this.changed = true; // an equal copy may have been given out: what is closed is the very object that stays
    this.opened.pop();
    this.weight = this.weights.pop() ?? 0;
    this.depth--;
    this.top = this.opened[this.depth - 1];
    this.topList = Array.isArray(this.top) ? this.top : undefined;
  }

  /**
   * What has come so far. The same object as before, if nothing came since.
   *
   * @param text The text so far of the string that is being read; undefined: none is.
   */
  snapshot(text: string | undefined): JsonValue | undefined {
    if (this.changed || text !== this.lastText) this.last = this.copies(text);
    this.lastText = text;
    this.changed = false;
    return this.last;
  }

  /** The array at the path; without one, the array at the root, or the first in a property of the root. */
  list(path?: readonly string[]): JsonList | undefined {
    if (!path) return this.first && this.listAt(this.first.list, this.first.depth);
    const found = path.reduce<unknown>(
      (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
      this.root,
    );
    return this.listAt(found, path.length);
  }

  private copies(text: string | undefined): JsonValue | undefined {
    const innermost = this.depth - 1;
    let inner: JsonValue | undefined = text;
    for (let depth = innermost; depth >= 0; depth--) {
      const container = this.opened[depth];
      if (Array.isArray(container)) {
        const copy = container.slice();
        // An open container is already in the one around it, an open string is not.
        if (inner !== undefined) copy[depth === innermost ? copy.length : copy.length - 1] = inner;
        inner = copy;
      } else {
        const copy = { ...container };
        if (inner !== undefined) put(copy, depth === innermost ? this.key : (this.keys[depth] ?? ''), inner);
        inner = copy;
      }
    }
    return inner ?? this.root;
  }

  private listAt(list: unknown, depth: number): JsonList | undefined {
    if (!Array.isArray(list)) return undefined;
    const isOpenInside = this.opened[depth] === list && this.depth > depth + 1;
    return { values: list as readonly JsonValue[], finished: isOpenInside ? list.length - 1 : list.length };
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** `__proto__` is an ordinary key, as for `JSON.parse`. */
function put(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}
