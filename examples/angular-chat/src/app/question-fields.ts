import type { JsonObject, JsonSchema, JsonValue } from 'rivulet';

/** A field of the form of a question. */
export interface Field {
  /** Empty if the answer is one value, and not an object. */
  readonly name: string;
  /** The name of its inputs: one without a name is not sent. */
  readonly control: string;
  readonly label: string;
  readonly hint: string;
  /** `yes`: a tick; `one`, `many`: choices; `lines`: a text per line; `json`: anything that has no field of its own. */
  readonly kind: 'text' | 'email' | 'url' | 'number' | 'date' | 'file' | 'yes' | 'one' | 'many' | 'lines' | 'json';
  readonly choices: readonly Choice[];
  readonly isRequired: boolean;
  /** The value if nothing is given: null, where the schema requires one. */
  readonly empty: null | undefined;
  /** The value at first. */
  readonly value: JsonValue | undefined;
  /** Of a `json` field: what it has to be. */
  readonly schema: JsonSchema;
}

interface Choice {
  readonly label: string;
  readonly value: JsonValue;
}

export const isObject = (schema: JsonSchema): boolean => schema['type'] === 'object' && 'properties' in schema;

/** The fields for the JSON schema of an answer. Every schema has at least one. */
export function fieldsOf(schema: JsonSchema, values: JsonValue | undefined): readonly Field[] {
  if (!isObject(schema)) return [fieldOf('', schema, true, values)];
  const properties = Object.entries(schema['properties'] as Record<string, JsonSchema>);
  const required = (schema['required'] ?? []) as readonly string[];
  const valueOf = (name: string) => (values as JsonObject | undefined)?.[name];
  return properties.map(([name, property]) => fieldOf(name, property, required.includes(name), valueOf(name)));
}

const formats = { date: 'date', email: 'email', uri: 'url' } as const;

function fieldOf(name: string, given: JsonSchema, isRequired: boolean, value: JsonValue | undefined): Field {
  const schema = withoutNull(given);
  const { title = name, description, format } = { ...given, ...schema } as Readonly<Record<string, string>>;
  const choices = choicesOf(schema['type'] === 'array' ? schema['items'] : schema);
  const kind = kindOf(schema, choices);
  const isOptional = !isRequired || schema !== given;
  const hasFormat = kind === 'text' && format !== undefined;
  const hints = { json: 'Write JSON.', lines: 'One on each line.' } as Readonly<Record<string, string>>;
  return {
    ...{
      name,
      control: `field-${name}`,
      kind,
      choices,
      schema,
      isRequired: !isOptional,
      empty: isRequired && isOptional ? null : undefined,
    },
    label: `${title || 'Your answer'}${isOptional && kind !== 'yes' ? ' (optional)' : ''}`,
    hint: [description, hints[kind], hasFormat ? `Format: ${format}.` : undefined].filter(Boolean).join(' '),
    value: value ?? (given['default'] as JsonValue | undefined),
  };
}

/** A schema without null, which is what a field has that is left empty. The same schema if null is not allowed. */
function withoutNull(schema: JsonSchema): JsonSchema {
  const { type, anyOf } = schema as { readonly type?: unknown; readonly anyOf?: readonly JsonSchema[] };
  const [only = {}, ...others] = (anyOf ?? []).filter((each) => each['type'] !== 'null');
  if (anyOf && others.length + 1 < anyOf.length) return others.length === 0 ? only : { ...schema };
  if (!Array.isArray(type) || !type.includes('null')) return schema;
  const [first, ...more] = type.filter((each) => each !== 'null') as readonly string[];
  return { ...schema, type: more.length === 0 && first ? first : type } as JsonSchema;
}

/** The choices of `enum`, and of `oneOf` or `anyOf` with a `const` and a title each. */
function choicesOf(schema: unknown): readonly Choice[] {
  const { enum: values = [], oneOf, anyOf } = (schema ?? {}) as Readonly<Record<string, readonly JsonValue[]>>;
  const titled = ((oneOf ?? anyOf ?? []) as readonly JsonSchema[]).map((each) => ({
    value: each['const'] as JsonValue | undefined,
    label: String(each['title'] ?? each['const']),
  }));
  const hasValues = titled.every((each): each is Choice => each.value !== undefined);
  if (titled.length > 0 && hasValues) return titled as readonly Choice[];
  return values.filter((value) => value !== null).map((value) => ({ value, label: String(value) }));
}

function kindOf(schema: JsonSchema, choices: readonly Choice[]): Field['kind'] {
  const { type, format, contentEncoding, items } = schema;
  if (choices.length > 0) return type === 'array' ? 'many' : 'one';
  if (type === 'boolean') return 'yes';
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'array' && (items as JsonSchema | undefined)?.['type'] === 'string') return 'lines';
  if (type !== 'string') return 'json';
  if (contentEncoding === 'base64') return 'file';
  return Object.hasOwn(formats, String(format)) ? formats[format as keyof typeof formats] : 'text';
}

/** The answer that was given in a form. */
export async function answerOf(schema: JsonSchema, fields: readonly Field[], data: FormData): Promise<JsonValue> {
  const values = await Promise.all(
    fields.map(async (field) => [field.name, (await valueOf(field, data)) ?? field.empty] as const),
  );
  const answer = Object.fromEntries(values.filter(([, value]) => value !== undefined)) as JsonObject;
  return isObject(schema) ? answer : (answer[''] ?? null);
}

/** The value of a field; undefined if nothing was given. */
async function valueOf({ control, kind, choices }: Field, data: FormData): Promise<JsonValue | undefined> {
  const value = data.get(control) ?? '';
  if (kind === 'many') return data.getAll(control).map((index) => choices[Number(index)]?.value ?? null);
  if (kind === 'yes') return data.has(control);
  if (value instanceof File) return value.size > 0 ? base64(value) : undefined;
  if (kind === 'lines') return value.split('\n').flatMap((line) => line.trim() || []);
  if (value.trim() === '') return undefined;
  if (kind === 'one') return choices[Number(value)]?.value;
  if (kind === 'json') return JSON.parse(value) as JsonValue;
  return kind === 'number' ? Number(value) : value;
}

const base64 = async (file: File): Promise<string> =>
  btoa(Array.from(new Uint8Array(await file.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(''));

/** What is wrong with an answer: at each field by its name, and what belongs to none of them at ''. */
export function problemsOf(problem: string | undefined, fields: readonly Field[]): Readonly<Record<string, string>> {
  const problems: Record<string, string> = {};
  for (const part of problem?.split('; ') ?? []) {
    const { name = '' } =
      fields.find(
        (field) => field.name && /^[.:]/.test(part.slice(field.name.length)) && part.startsWith(field.name),
      ) ?? {};
    const text = part.startsWith(`${name}: `) ? part.slice(name.length + 2) : part;
    problems[name] = problems[name] === undefined ? text : `${problems[name]}; ${text}`;
  }
  return problems;
}
