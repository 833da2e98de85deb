import { schemaError } from '../../core/errors.js';
import { asArray, isJsonObject, omit, type JsonObject, type JsonSchema, type JsonValue } from '../../core/json/json.js';
import { resolveReference } from '../../core/json/reference.js';
import { list } from '../../core/objectRoot.js';
import { describeConstraints, mapSubschemas, mapValues } from './mapSchema.js';

/** Without OpenAI's strict mode (`strictSchema`). */
export interface SchemaRules {
  readonly api: string;
  /** Others move to the description, which the model still reads. */
  readonly accepts: (keyword: string, value: JsonValue) => boolean;
  /** `const`. Default: texts and numbers become an `enum`. */
  readonly constants?: boolean;
  /** `prefixItems`. Default: each item may have the type of any. */
  readonly tuples?: boolean;
  /** Recursive references. Default: they are an error. */
  readonly recursion?: boolean;
  /** Nothing may stand beside a `$ref`. Default: false. */
  readonly bareReferences?: boolean;
  /** Objects need `additionalProperties: false`; a record is an error. Default: false. */
  readonly closed?: boolean;
}

/** A wider meaning moves to the description. Outputs and arguments are validated against the original schema. */
export function adaptSchema(schema: JsonSchema, rules: SchemaRules, subject: string): JsonSchema {
  const { $defs, definitions, ...root } = hoistReferences(schema);
  const all: JsonObject = { ...objectOf(definitions), ...objectOf($defs) };
  if (!rules.recursion) requireNoCycle(root, all, rules.api, subject);
  const adapt = (value: JsonValue, path: string) =>
    isJsonObject(value) ? adaptPart(value, { rules, subject }, path) : value;
  const defs = Object.entries(all).map(([name, value]) => [name, adapt(value, `$defs.${name}`)]);
  return {
    ...(adapt(root, '') as JsonSchema),
    ...(defs.length > 0 ? { $defs: Object.fromEntries(defs) as JsonObject } : {}),
  };
}

interface Context {
  readonly rules: SchemaRules;
  readonly subject: string;
}

function adaptPart(schema: JsonSchema, context: Context, path: string): JsonSchema {
  const { rules, subject } = context;
  if (rules.bareReferences && schema['$ref'] !== undefined) return { $ref: schema['$ref'] };
  const accepted: Record<string, JsonValue> = {};
  const described: Record<string, JsonValue> = {};
  for (const [keyword, value] of Object.entries(replaceKeywords(schema, rules))) {
    const inner = (part: JsonSchema, name: string | number = '') =>
      adaptPart(part, context, [path, keyword, name].filter((each) => each !== '').join('.'));
    if (rules.accepts(keyword, value)) accepted[keyword] = mapSubschemas(keyword, value, inner);
    else if (keyword !== 'propertyNames' || JSON.stringify(value) !== '{"type":"string"}') described[keyword] = value;
  }
  const { prefixItems } = schema;
  if (!rules.tuples && prefixItems !== undefined) described['prefixItems'] = prefixItems;
  const constraints = describeConstraints(described);
  if (constraints !== '')
    accepted['description'] = [...asArray(schema['description']), `{${constraints}}`].join('\n\n');
  const isObject = asArray(schema['type']).includes('object') || isJsonObject(schema['properties']);
  if (!rules.closed || !isObject) return accepted;
  const { additionalProperties } = schema;
  const hasProperties = Object.keys(objectOf(schema['properties'])).length > 0;
  if (!hasProperties && isJsonObject(additionalProperties))
    throw unsupported(subject, path, 'additionalProperties', rules.api, 'a record', 'an array of { key, value }');
  return { ...accepted, additionalProperties: false };
}

/** For a model, `oneOf` means the same as `anyOf`, and typed enums are a choice of enums. */
function replaceKeywords(schema: JsonSchema, { tuples, constants }: SchemaRules): JsonSchema {
  const { oneOf, anyOf, prefixItems, ...others } = schema;
  let replaced: JsonObject = others;
  if (tuples) replaced = prefixItems === undefined ? replaced : { ...replaced, prefixItems };
  else if (prefixItems !== undefined) {
    const items = [...list(prefixItems), ...(isJsonObject(others['items']) ? [others['items']] : [])];
    replaced = { ...replaced, items: items.length === 1 ? (items[0] ?? {}) : { anyOf: items } };
  }
  const constant = replaced['const'];
  if (!constants && constant !== undefined) replaced = { ...omit(replaced, 'const', 'type'), ...enumOf([constant]) };
  const values = replaced['enum'];
  const choices: JsonValue[] = [...list(anyOf), ...list(oneOf)];
  if (Array.isArray(values) && Array.isArray(replaced['type'])) {
    replaced = omit(replaced, 'enum', 'type');
    choices.push(...splitByType(values as JsonValue[]));
  }
  return choices.length > 0 ? { ...replaced, anyOf: choices } : replaced;
}

function splitByType(values: readonly JsonValue[]): readonly JsonObject[] {
  const types = [...new Set(values.map(typeOf))];
  return types.map((type) => enumOf(values.filter((value) => typeOf(value) === type)));
}

function enumOf(values: readonly JsonValue[]): JsonObject {
  const type = typeOf(values[0] ?? null);
  return type === 'null' ? { type } : { type, enum: values };
}

const typeOf = (value: JsonValue): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

const isDefinition = /^#\/\$defs\/[^/]+$/;

/** `$defs` is the only place that every API knows. A target is copied once, whatever refers to it and to its parts. */
function hoistReferences(schema: JsonSchema): JsonSchema {
  const names = new Map<JsonObject, string>();
  const targets = new Map<string, JsonObject>();
  const referenceIn = (value: JsonValue | undefined) => {
    const { $ref } = objectOf(value);
    return typeof $ref === 'string' && !isDefinition.test($ref) ? $ref : undefined;
  };
  const collect = (value: JsonValue | undefined): void => {
    if (typeof value !== 'object' || value === null) return;
    const reference = referenceIn(value);
    const target = resolveReference(reference, schema);
    if (reference !== undefined && target && !names.has(target)) {
      const short = reference.replace(/^#\/?(?:definitions\/)?/, '').replace(/\W+/g, '_') || 'root';
      const name = targets.has(short) ? `${short}_${targets.size}` : short;
      names.set(target, name);
      targets.set(name, target);
    }
    Object.values(value).forEach(collect);
  };
  const referTo = (target: JsonObject | undefined) => {
    const name = target && names.get(target);
    return name === undefined ? {} : { $ref: `#/$defs/${name}` };
  };
  const copy = (value: JsonObject): JsonObject => ({
    ...mapValues(value, hoist),
    ...referTo(resolveReference(referenceIn(value), schema)),
  });
  const hoist = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return (value as readonly JsonValue[]).map(hoist);
    if (!isJsonObject(value)) return value;
    return names.has(value) ? referTo(value) : copy(value);
  };
  collect(schema);
  const hoisted = copy(schema);
  if (targets.size === 0) return hoisted;
  const moved = [...targets].map(([name, target]) => [name, copy(omit(target, '$defs', 'definitions'))] as const);
  return { ...hoisted, $defs: { ...objectOf(hoisted['$defs']), ...Object.fromEntries(moved) } };
}

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

function requireNoCycle(root: JsonObject, defs: JsonObject, api: string, subject: string): void {
  const open = new Set<string>();
  const done = new Set<string>();
  const visit = (value: JsonValue): void => {
    if (typeof value !== 'object' || value === null) return;
    const { $ref } = value as JsonObject;
    if (typeof $ref === 'string' && isDefinition.test($ref)) {
      const name = $ref.slice('#/$defs/'.length);
      if (open.has(name))
        throw unsupported(subject, `$defs.${name}`, '$ref', api, 'a schema that contains itself', 'a list with ids');
      if (done.has(name)) return;
      open.add(name);
      visit(defs[name] ?? null);
      open.delete(name);
      done.add(name);
      return;
    }
    Object.values(value).forEach(visit);
  };
  visit(root);
}

function unsupported(subject: string, path: string, keyword: string, api: string, what: string, instead: string) {
  return schemaError(
    `${subject}: ${api} does not accept ${what} (${keyword} at "${path}").`,
    `Describe the value differently, for example as ${instead}.`,
  );
}
