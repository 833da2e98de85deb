import { isRecord } from '../../core/json/json.js';
import { reject, type SourceLine } from './line.js';

interface Definition {
  readonly json: unknown;
  readonly line: SourceLine;
}

export type Definitions = ReadonlyMap<string, Definition>;

function parseJson(text: string, line: SourceLine): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    return reject(
      line,
      `not JSON (${error instanceof Error ? error.message : String(error)})`,
      'Write the complete value as JSON on this one line; strings need double quotes.',
    );
  }
}

export function readError(text: string, line: SourceLine): Readonly<Record<string, unknown>> {
  const fields = parseJson(text, line);
  if (isRecord(fields) && Object.keys(fields).length > 0) return fields;
  return reject(
    line,
    'an error is written as its fields',
    'Write {"name":"TypeError","message":"..."}: the fields of an input\'s error, or to compare of the output\'s.',
  );
}

export function readDefinitions(lines: readonly SourceLine[]): Definitions {
  const definitions = new Map<string, Definition>();
  for (const line of lines) {
    const [, name, text] = /^\s*%:\s*(\w+|#)\s*=\s*(.*)$/.exec(line.text) ?? [];
    if (name === undefined || text === undefined) {
      return reject(
        line,
        'a comment that begins with "%:" defines a value',
        'Write "%: a = <JSON>" or "%: # = {"message":"..."}"; for prose, "% ...".',
      );
    }
    const first = definitions.get(name);
    if (first) reject(line, `"${name}" is already defined in line ${first.line.number}`, 'Use another letter.');
    definitions.set(name, { line, json: name === '#' ? readError(text, line) : parseJson(text, line) });
  }
  return definitions;
}

export interface Values {
  readonly values: Readonly<Record<string, unknown>>;
  readonly referenced: ReadonlySet<string>;
}

/** `"$name"` and `"$name.key.0"` stand for values; `"$$name"` stands for the text `$name`. */
export function resolveValues(definitions: Definitions): Values {
  const referenced = new Set<string>();
  const resolve = (json: unknown, line: SourceLine, within: readonly string[]): unknown => {
    if (Array.isArray(json)) return json.map((item) => resolve(item, line, within));
    if (isRecord(json))
      return Object.fromEntries(Object.entries(json).map(([key, item]) => [key, resolve(item, line, within)]));
    const [, escaped, name, path] = /^\$(\$?)(\w+)((?:\.\w+)*)$/.exec(typeof json === 'string' ? json : '') ?? [];
    if (name === undefined || path === undefined) return json;
    if (escaped) return `$${name}${path}`;
    const definition = definitions.get(name);
    if (!definition)
      return reject(
        line,
        `there is no value "${name}"`,
        `Define it ("%: ${name} = ..."), or write "$$${name}${path}" for the text.`,
      );
    if (within.includes(name))
      return reject(line, `"${name}" refers to itself (${[...within, name].join(' > ')})`, 'Remove one reference.');
    referenced.add(name);
    return path
      .split('.')
      .slice(1)
      .reduce(
        (outer, key) => {
          if (typeof outer === 'object' && outer !== null && Object.hasOwn(outer, key))
            return (outer as Record<string, unknown>)[key];
          return reject(line, `the value "${name}" has no "${path.slice(1)}"`, 'Correct the path.');
        },
        resolve(definition.json, definition.line, [...within, name]),
      );
  };
  const entries = [...definitions]
    .filter(([name]) => name !== '#')
    .map(([name, { json, line }]) => [name, resolve(json, line, [name])] as const);
  return { values: Object.fromEntries(entries), referenced };
}
