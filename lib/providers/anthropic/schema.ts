import type { JsonSchema, JsonValue } from '../../core/json/json.js';
import { words } from '../../core/words.js';
import { adaptSchema } from '../shared/adaptSchema.js';
import type { SchemaRules } from '../shared/adaptSchema.js';

const rejectedKeywords: ReadonlySet<string> = /* @__PURE__ */ words(`
  minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems contains
  minContains maxContains minProperties maxProperties patternProperties propertyNames dependentRequired
  dependentSchemas unevaluatedItems unevaluatedProperties not if then else
`);

const supportedFormats: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  date-time time date duration email hostname uri ipv4 ipv6 uuid
`);

/** platform.claude.com, "Structured outputs"; an `enum` beside a list of types is status 400 (vercel/ai#12876). */
const rules: SchemaRules = { api: 'anthropic', accepts: isAccepted, constants: true, closed: true };

/** Constraints that the API rejects with status 400 move to the description, so that the model still reads them. */
export const outputSchema = (schema: JsonSchema, subject = 'The output'): JsonSchema =>
  adaptSchema(schema, rules, subject);

function isAccepted(keyword: string, value: JsonValue): boolean {
  if (keyword === 'format') return supportedFormats.has(value);
  return keyword === 'minItems' ? value === 0 || value === 1 : !rejectedKeywords.has(keyword);
}
