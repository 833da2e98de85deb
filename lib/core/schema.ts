import { errorText, schemaError } from './errors.js';
import { requireSync } from './options.js';
import { isRecord, isWeakKey, omit, type JsonObject, type JsonSchema, type JsonValue } from './json/json.js';

/** The part of Standard Schema (standardschema.dev) that Rivulet uses. zod, valibot and arktype implement it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | PromiseLike<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema, which zod implements since version 4.2. */
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

/** A plain JSON Schema. Its optional `validate` returns the validated value, or throws. */
export type PlainSchema<T = JsonObject> = Readonly<Record<string, unknown>> & {
  readonly validate?: (value: JsonObject) => T;
};

/** The description of a value: a Standard Schema or a plain JSON Schema. */
export type Schema<T = unknown> = StandardSchema<unknown, T> | PlainSchema<T>;

/** The type of the JSON that a schema accepts, before its defaults and transformations. */
export type InferInput<S> = S extends StandardSchema<infer Input, unknown> ? Input : JsonObject;

export type Infer<S> =
  S extends StandardSchema<unknown, infer T>
    ? T
    : S extends { readonly validate: (value: JsonObject) => infer T }
      ? T
      : JsonObject;

export type Validation<T> = { readonly value: T } | { readonly invalid: string };

const isStandard = (schema: Schema): schema is StandardSchema => '~standard' in schema;

/** @throws ConfigurationError `schema`. zod converts since 4.2. `subject` begins the error: `The output`. */
export function toJsonSchema(schema: Schema, subject: string): JsonSchema {
  if (!isWeakKey(schema)) throw notASchema(subject); // the schemas of arktype are functions
  const known = converted.get(schema);
  if (known) return known;
  const jsonSchema = isStandard(schema) ? fromStandardSchema(schema, subject) : fromPlain(schema, subject);
  converted.set(schema, jsonSchema);
  return jsonSchema;
}

/** Schemas are immutable, and each turn needs those of the tools and of the output. */
const converted = new WeakMap<Schema, JsonSchema>();

function fromPlain(schema: PlainSchema<unknown>, subject: string): JsonSchema {
  // A common mistake: `{ name: z.string() }` instead of `z.object({ name: z.string() })`.
  if (Object.values(schema).some((value) => isRecord(value) && '~standard' in value)) throw notASchema(subject);
  return omit(schema as JsonSchema, 'validate');
}

function fromStandardSchema(schema: StandardSchema, subject: string): JsonSchema {
  const { jsonSchema, vendor } = schema['~standard'];
  if (!jsonSchema) {
    throw schemaError(
      `${subject}: this ${vendor} schema cannot be converted to JSON Schema.`,
      'Use zod 4.2 or later, or pass a plain JSON Schema.',
    );
  }
  try {
    return omit(jsonSchema.input({ target: 'draft-2020-12' }) as JsonSchema, '$schema', '~standard');
  } catch (error) {
    const nextStep = 'Use types of JSON: z.iso.datetime() for a date, z.int() for a bigint.';
    throw schemaError(`${subject}: this schema cannot be converted to JSON Schema: ${errorText(error)}.`, nextStep);
  }
}

const notASchema = (subject: string) =>
  schemaError(
    `${subject}: the value is not a schema.`,
    'Pass z.object({ ... }), another Standard Schema, or a JSON Schema.',
  );

/** A plain JSON Schema without `validate` checks only for an object with the required keys. */
export function validate<T>(schema: Schema<T>, value: JsonValue): Validation<T> | Promise<Validation<T>> {
  if (isStandard(schema)) {
    const result = schema['~standard'].validate(value);
    // `instanceof Promise` would miss a Promise of another realm.
    return 'then' in result ? Promise.resolve(result).then(fromStandard<T>) : fromStandard<T>(result);
  }
  if (!isRecord(value)) return { invalid: `expected an object, got ${typeName(value)}` };
  if (!schema.validate) return withRequiredKeys<T>(schema, value);
  let validated: T;
  try {
    validated = schema.validate(value);
  } catch (error) {
    return { invalid: errorText(error) };
  }
  return { value: requireSync('validate', validated) };
}

function withRequiredKeys<T>({ required }: PlainSchema<unknown>, value: JsonObject): Validation<T> {
  const keys: readonly unknown[] = Array.isArray(required) ? required : [];
  const missing: string[] = [];
  for (const key of keys) if (typeof key === 'string' && !Object.hasOwn(value, key)) missing.push(`"${key}"`);
  return missing.length > 0 ? { invalid: `missing required ${missing.join(', ')}` } : { value: value as T };
}

function typeName(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}

/** The model reads them again in each turn: a list of 30,000 wrong elements had 1.7 MB of issues. */
const MAX_ISSUES = 20;

function fromStandard<T>(result: StandardResult<T>): Validation<T> {
  if (!result.issues) return { value: result.value };
  const toKey = (key: PropertyKey | { readonly key: PropertyKey }) => String(typeof key === 'object' ? key.key : key);
  const messages = result.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => (path?.length ? `${path.map(toKey).join('.')}: ${message}` : message));
  const others = result.issues.length - messages.length;
  return { invalid: messages.join('; ') + (others > 0 ? `; and ${others} more` : '') };
}
