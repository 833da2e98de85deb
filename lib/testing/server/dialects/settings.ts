import { asArray, finiteNumber, isRecord, objectOrEmpty } from '../../../core/json/json.js';

interface Objection {
  readonly message: string;
  readonly code?: string;
}

type Body = Readonly<Record<string, unknown>>;

function findName(names: readonly unknown[], pattern: RegExp): { readonly at: number } | undefined {
  const at = names.findIndex((name) => typeof name === 'string' && !pattern.test(name));
  return at < 0 ? undefined : { at };
}

const functionNames = (tools: unknown, key?: string): readonly unknown[] =>
  asArray(tools).map(
    (tool) => (key === undefined ? objectOrEmpty(tool) : objectOrEmpty(objectOrEmpty(tool)[key]))['name'],
  );

/** API reference: `temperature` is 0 to 2; names have at most 64 characters. `key`: where a tool has its name. */
export function refusedByOpenaiSettings(body: Body, key?: string): Objection | undefined {
  const { temperature = 1, tools } = body;
  if (temperature !== null && typeof temperature !== 'number')
    return {
      message: `Invalid type for 'temperature': expected a decimal, but got a ${typeof temperature} instead.`,
      code: 'invalid_type',
    };
  if (typeof temperature === 'number' && (temperature < 0 || temperature > 2)) {
    const [side, sign, limit] = temperature < 0 ? ['below minimum', '>=', 0] : ['above maximum', '<=', 2];
    return {
      message:
        `Invalid 'temperature': decimal ${side} value. ` +
        `Expected a value ${sign} ${limit}, but got ${temperature} instead.`,
      code: `decimal_${temperature < 0 ? 'below_min' : 'above_max'}_value`,
    };
  }
  const found = findName(functionNames(tools, key), /^[a-zA-Z0-9_-]{1,64}$/);
  const path = key === undefined ? 'name' : `${key}.name`;
  return (
    found && {
      message:
        `Invalid 'tools[${found.at}].${path}': string does not match pattern. ` +
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
      code: 'invalid_value',
    }
  );
}

/** API reference: `temperature` is between 0 and 1; `tools[].name`. */
export function refusedByAnthropicSettings({ temperature, tools }: Body): string | undefined {
  const value = finiteNumber(temperature);
  if (temperature !== undefined && value === undefined)
    return 'temperature: Input should be a valid number, unable to parse string as a number';
  if (value !== undefined && value > 1) return 'temperature: Input should be less than or equal to 1';
  if (value !== undefined && value < 0) return 'temperature: Input should be greater than or equal to 0';
  const found = findName(functionNames(tools), /^[a-zA-Z0-9_-]{1,128}$/);
  return found && `tools.${found.at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
}

/** API reference: `GenerationConfig.temperature`, `FunctionDeclaration.name`. */
export function refusedByGoogleSettings({ generationConfig, tools }: Body): string | undefined {
  const { temperature } = objectOrEmpty(generationConfig) as Body;
  const value = finiteNumber(temperature);
  if (temperature !== undefined && value === undefined)
    return `Invalid value at 'generation_config.temperature' (TYPE_FLOAT), ${JSON.stringify(temperature)}`;
  if (value !== undefined && (value < 0 || value > 2))
    return '* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].';
  const names = asArray(tools).flatMap((tool) => (isRecord(tool) ? functionNames(tool['functionDeclarations']) : []));
  const found = findName(names, /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/);
  return (
    found &&
    `* GenerateContentRequest.tools[0].function_declarations[${found.at}].name: Invalid function name. Must start ` +
      'with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or ' +
      'dashes (-), with a maximum length of 64.'
  );
}
