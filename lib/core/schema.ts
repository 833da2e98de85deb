import { ConfigurationError, errorText } from './errors.js';
import { isRecord, omit } from './json/json.js';
import type { JsonObject, JsonSchema, JsonValue } from './json/json.js';

/** The part of the Standard Schema interface (standardschema.dev) that is used here: zod, valibot and arktype implement it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | PromiseLike<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema: zod has it from 4.2. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** A plain JSON Schema, with a check of one's own if wanted: it gives the value back, or throws. */
export type PlainSchema<T = JsonObject> = Readonly<Record<string, unknown>> & {
  readonly validate?: (value: JsonObject) => T;
};

/** What describes a value: a Standard Schema, or a plain JSON Schema. */
export type Schema<T = unknown> = StandardSchema<unknown, T> | PlainSchema<T>;

/** The type that a schema validates to. */
export type Infer<S> =
  S extends StandardSchema<unknown, infer T>
    ? T
    : S extends { readonly validate: (value: JsonObject) => infer T }
      ? T
      : JsonObject;

/** What validation found: the value, or what is wrong with it in words that a model can act on. */
export type Validation<T> = { readonly value: T } | { readonly invalid: string };

const isStandard = (schema: Schema): schema is StandardSchema => '~standard' in schema;

/**
 * The JSON Schema of a schema, for the wire.
 *
 * @throws ConfigurationError `schema` when a Standard Schema cannot be turned into JSON Schema (zod can from 4.2; what JSON cannot hold, dates and the
 * like, never), or when what was given is no schema.
 */
export function jsonSchemaOf(schema: Schema, what: string): JsonSchema {
  if (!isObject(schema) || (!isStandard(schema) && Object.values(schema).some(isStandardWithin))) throw noSchema(what);
  if (!isStandard(schema)) return omit(schema as JsonSchema, 'validate');
  const known = documents.get(schema);
  if (known) return known;
  const { jsonSchema, vendor } = schema['~standard'];
  if (!jsonSchema) {
    throw new ConfigurationError(
      'schema',
      `${what}: this ${vendor} schema does not say its JSON Schema.`,
      'Use zod 4.2 or later, or pass a plain JSON Schema.',
    );
  }
  const made = omit(written(jsonSchema, what), '$schema', '~standard');
  documents.set(schema, made);
  return made;
}

type Writer = Required<StandardSchema['~standard']>['jsonSchema'];

function written(jsonSchema: Writer, what: string): JsonSchema {
  try {
    return jsonSchema.input({ target: 'draft-2020-12' }) as JsonSchema;
  } catch (error) {
    const next = 'Use what JSON can hold: z.iso.datetime() or z.string() for a date, z.int() for a bigint.';
    throw new ConfigurationError('schema', `${what}: this schema has no JSON Schema: ${errorText(error)}.`, next);
  }
}

/** Callers without types may give anything; arktype's schemas are functions. */
const isObject = (schema: unknown): boolean =>
  (typeof schema === 'object' && schema !== null) || typeof schema === 'function';

const isStandardWithin = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && '~standard' in value;

const noSchema = (what: string) =>
  new ConfigurationError(
    'schema',
    `${what}: this is no schema.`,
    'Pass z.object({ ... }), another Standard Schema, or a JSON Schema.',
  );

/** What Standard Schemas said: they do not change, and are asked anew for each tool in each turn. */
const documents = new WeakMap<StandardSchema, JsonSchema>();

/** Validates a value. Of a plain JSON Schema without `validate`, that it is an object and has its required keys. */
export function validate<T>(schema: Schema<T>, value: JsonValue): Validation<T> | Promise<Validation<T>> {
  if (isStandard(schema)) {
    const found = schema['~standard'].validate(value);
    return 'then' in found ? Promise.resolve(found).then(fromStandard<T>) : fromStandard<T>(found); // a Promise of any realm
  }
  if (!isRecord(value))
    return {
      invalid: `expected an object, got ${Array.isArray(value) ? 'an array' : value === null ? 'null' : typeof value}`,
    };
  const required = !schema.validate && Array.isArray(schema['required']) ? schema['required'] : [];
  const missing = required.filter((key) => typeof key === 'string' && !Object.hasOwn(value, key));
  if (missing.length > 0) return { invalid: `missing required ${missing.map((key) => `"${String(key)}"`).join(', ')}` };
  try {
    return { value: schema.validate ? schema.validate(value) : (value as T) };
  } catch (error) {
    return { invalid: errorText(error) };
  }
}

function fromStandard<T>(found: StandardResult<T>): Validation<T> {
  if (!found.issues) return { value: found.value };
  const keyOf = (key: PropertyKey | { readonly key: PropertyKey }) => String(typeof key === 'object' ? key.key : key);
  return {
    invalid: found.issues
      .map(({ path, message }) => (path?.length ? `${path.map(keyOf).join('.')}: ${message}` : message))
      .join('; '),
  };
}
