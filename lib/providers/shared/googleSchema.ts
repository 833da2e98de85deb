import type { JsonSchema } from '../../core/json/json.js';
import { adaptSchema } from './adaptSchema.js';
import type { SchemaRules } from './adaptSchema.js';

/**
 * What `responseJsonSchema` and `parametersJsonSchema` accept (ai.google.dev, `GenerationConfig` of the API reference).
 * References have to point into `$defs`, and nothing may stand beside them.
 */
const keywords =
  '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum ' +
  'anyOf properties additionalProperties required propertyOrdering';

const rules: SchemaRules = {
  api: 'google',
  accepts: (keyword) => keywords.split(' ').includes(keyword),
  tuples: true,
  recursion: true,
  bareReferences: true,
};

/** Converts a JSON Schema to one that Google's APIs accept. Any other keyword moves to the description. */
export const googleSchema = (schema: JsonSchema, subject: string): JsonSchema => adaptSchema(schema, rules, subject);
