import { isJsonObject, type JsonValue } from './json.js';

type Mutable = Record<string, JsonValue>;

/** Arrays are concatenated. The time is linear: a container is copied once, and then extended. */
export class JsonMerger {
  /** Containers that were created here. All others belong to somebody else. */
  private readonly owned = new WeakSet<object>();
  private merged: JsonValue | undefined;

  add(newer: JsonValue): this {
    this.merged = this.merge(this.merged, newer);
    return this;
  }

  get value(): JsonValue | undefined {
    return this.merged;
  }

  private merge(older: JsonValue | undefined, newer: JsonValue): JsonValue {
    if (Array.isArray(older) && Array.isArray(newer)) {
      const list = this.own(older as JsonValue[], (array) => [...array]);
      for (const element of newer as readonly JsonValue[]) list.push(element);
      return list;
    }
    if (!isJsonObject(older) || !isJsonObject(newer)) return newer;
    const object = this.own<Mutable>(older, (fields) => ({ ...fields }));
    for (const [key, value] of Object.entries(newer)) setField(object, key, this.merge(ownField(object, key), value));
    return object;
  }

  private own<T extends object>(container: T, copy: (container: T) => T): T {
    if (this.owned.has(container)) return container;
    const copied = copy(container);
    this.owned.add(copied);
    return copied;
  }
}

export function mergeJson(older: JsonValue | undefined, newer: JsonValue): JsonValue {
  if (older === undefined) return newer;
  return new JsonMerger().add(older).add(newer).value ?? null;
}

/** The name comes from outside: assigned, `__proto__` would be the prototype. */
export function setField(object: Mutable, name: string, value: JsonValue): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  else object[name] = value;
}

const ownField = (object: Mutable, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
