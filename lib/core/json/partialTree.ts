import { isObject } from './depth.js';
import type { JsonValue } from './json.js';
import { setField } from './merge.js';

type Container = JsonValue[] | Record<string, JsonValue>;

export interface PartialArray {
  readonly values: readonly JsonValue[];
  readonly finished: number;
}

/** Copying a key, or starting a copy, takes about eight times as long as copying an element (Node 20). */
const KEY_WEIGHT = 8;
const COPY_WEIGHT = 8;

/** Open containers are copied for each snapshot. A class: V8 would optimise closures again for each value. */
export class PartialTree {
  topArray: JsonValue[] | undefined;
  key = '';
  /** The cost of the next snapshot; 1 is about the cost of copying one reference. */
  weight = 0;
  depth = 0;
  private top: Container | undefined;
  private root: JsonValue | undefined;
  private readonly opened: Container[] = [];
  private readonly keys: string[] = [];
  private readonly weights: number[] = []; // by depth: the weight of the enclosing containers
  private firstArray: { readonly values: readonly JsonValue[]; readonly depth: number } | undefined;
  private hasChanged = false;
  private lastSnapshot: JsonValue | undefined;
  private lastText: string | undefined;

  add(value: JsonValue): void {
    this.hasChanged = true;
    if (this.topArray) {
      this.topArray.push(value);
      this.weight++;
    } else if (this.top) {
      setField(this.top as Record<string, JsonValue>, this.key, value);
      this.weight += KEY_WEIGHT;
    } else this.root = value;
  }

  open(container: Container): void {
    this.add(container);
    const isArray = Array.isArray(container);
    if (isArray && (this.depth === 0 || (this.depth === 1 && !this.topArray)))
      this.firstArray ??= { values: container, depth: this.depth };
    if (this.depth > 0) this.keys[this.depth - 1] = this.key;
    this.opened.push(container);
    this.weights.push(this.weight);
    this.weight += COPY_WEIGHT;
    this.depth++;
    this.top = container;
    this.topArray = isArray ? container : undefined;
  }

  close(): void {
    this.hasChanged = true; // earlier snapshots contain copies; later ones contain the object itself
    this.opened.pop();
    this.weight = this.weights.pop() ?? 0;
    this.depth--;
    this.top = this.opened[this.depth - 1];
    this.topArray = Array.isArray(this.top) ? this.top : undefined;
  }

  /** The same object if there are no new values. `text` is the text so far of an open string. */
  snapshot(text: string | undefined): JsonValue | undefined {
    if (this.hasChanged || text !== this.lastText) this.lastSnapshot = this.copyOpen(text);
    this.lastText = text;
    this.hasChanged = false;
    return this.lastSnapshot;
  }

  array(path?: readonly string[]): PartialArray | undefined {
    if (!path) return this.firstArray && this.arrayAt(this.firstArray.values, this.firstArray.depth);
    const value = path.reduce<unknown>(
      (parent, key) => (isObject(parent) && Object.hasOwn(parent, key) ? parent[key] : undefined),
      this.root,
    );
    return this.arrayAt(value, path.length);
  }

  private copyOpen(text: string | undefined): JsonValue | undefined {
    const innermost = this.depth - 1;
    let inner: JsonValue | undefined = text;
    for (let depth = innermost; depth >= 0; depth--) {
      const container = this.opened[depth];
      if (Array.isArray(container)) {
        const copy = container.slice();
        // An open container is already the last element of its parent; an open string is not.
        if (inner !== undefined) copy[depth === innermost ? copy.length : copy.length - 1] = inner;
        inner = copy;
      } else {
        const copy = { ...container };
        if (inner !== undefined) setField(copy, depth === innermost ? this.key : (this.keys[depth] ?? ''), inner);
        inner = copy;
      }
    }
    return inner ?? this.root;
  }

  private arrayAt(values: unknown, depth: number): PartialArray | undefined {
    if (!Array.isArray(values)) return undefined;
    const isLastOpen = this.opened[depth] === values && this.depth > depth + 1;
    return { values: values as readonly JsonValue[], finished: isLastOpen ? values.length - 1 : values.length };
  }
}
