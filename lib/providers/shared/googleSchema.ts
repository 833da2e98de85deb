import type { JsonSchema } from '../../core/json/json.js';
import { adaptSchema, type SchemaRules } from './adaptSchema.js';

/** ai.google.dev, `GenerationConfig`. References have to point into `$defs`, and nothing may stand beside them. */
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

export const googleSchema = (schema: JsonSchema, subject: string): JsonSchema => adaptSchema(schema, rules, subject);
