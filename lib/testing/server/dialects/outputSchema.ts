import { isRecord } from '../../../core/json/json.js';

const namedSchemas = ['properties', '$defs', 'definitions'] as const;

function findInObjects(
  schema: unknown,
  check: (object: Record<string, unknown>, path: readonly string[]) => string | undefined,
  path: readonly string[] = [],
): string | undefined {
  if (!isRecord(schema)) return undefined;
  const own = schema['type'] === 'object' ? check(schema, path) : undefined;
  if (own !== undefined) return own;
  const inner: (readonly [unknown, readonly string[]])[] = [];
  for (const keyword of namedSchemas)
    for (const [name, part] of Object.entries(isRecord(schema[keyword]) ? schema[keyword] : {}))
      inner.push([part, [...path, keyword, name]]);
  inner.push([schema['items'], [...path, 'items']]);
  const choices: readonly unknown[] = Array.isArray(schema['anyOf']) ? schema['anyOf'] : [];
  choices.forEach((part, index) => inner.push([part, [...path, 'anyOf', String(index)]]));
  for (const [part, at] of inner) {
    const found = findInObjects(part, check, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Guide "Structured outputs", `lib/transform`: an object without `anyOf`; strict mode requires all properties. */
export function refusedByOpenai(format: unknown, field: string): string | undefined {
  if (!isRecord(format) || !isRecord(format['schema'])) return undefined;
  const { schema, strict } = format;
  const invalid = `Invalid schema for ${field} '${String(format['name'])}'`;
  if (schema['type'] !== 'object') {
    const type = typeof schema['type'] === 'string' ? `type: "${schema['type']}"` : 'type: "None"';
    return `${invalid}: schema must be a JSON Schema of 'type: "object"', got '${type}'.`;
  }
  const choice = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'].find((keyword) => keyword in schema);
  if (choice !== undefined) return `${invalid}: schema must not have '${choice}' at the top level.`;
  if (strict !== true) return undefined;
  return findInObjects(schema, ({ properties, required, additionalProperties }, path) => {
    const context = `In context=(${path.map((name) => `'${name}'`).join(', ')})`;
    if (additionalProperties !== false)
      return `${invalid}: ${context}, 'additionalProperties' is required to be supplied and to be false.`;
    const names: readonly unknown[] = Array.isArray(required) ? required : [];
    const missing = Object.keys(isRecord(properties) ? properties : {}).find((name) => !names.includes(name));
    if (missing === undefined) return undefined;
    return (
      `${invalid}: ${context}, 'required' is required to be supplied and to be an array including every key in ` +
      `properties. Missing '${missing}'.`
    );
  });
}

/** "JSON Schema limitations": objects accept no other properties. */
export function refusedByAnthropic(format: unknown): string | undefined {
  return findInObjects(isRecord(format) ? format['schema'] : undefined, ({ additionalProperties }) =>
    additionalProperties === false
      ? undefined
      : "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
  );
}
