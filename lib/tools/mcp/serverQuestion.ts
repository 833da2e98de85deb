import { catchError, map, of, throwError, type Observable } from 'rxjs';
import { ProtocolError } from '../../core/errors.js';
import { hash } from '../../core/hash.js';
import { asArray, isRecord, objectOrEmpty, omit, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { PlainSchema } from '../../core/schema.js';
import { noParameters } from '../../core/tool.js';
import { ToolFailure } from '../../operators/execute/toolFailure.js';
import type { AskOptions } from '../ask/askOptions.js';
import type { AskContext } from '../ask/askOptions.js';

type Elicited = { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: JsonObject };

/** Asks a person what a server asks. `params` are those of its request, as they arrived. */
export type Elicit = (params: unknown) => Observable<Elicited>;

/** The id depends on the content: a call that is sent again receives an answer only for what it asked before. */
export function createElicit(ask: AskContext['ask']): Elicit {
  const counts = new Map<string, number>();
  return (params) => {
    const question = toQuestion(objectOrEmpty(params));
    const content = hash(JSON.stringify(question));
    const count = (counts.get(content) ?? 0) + 1;
    counts.set(content, count);
    return ask({ ...question, key: count === 1 ? content : `${content}-${count}` }).pipe(
      map((answer): Elicited => (question.details ? { action: 'accept' } : { action: 'accept', content: answer })),
      catchError((thrown: unknown) => {
        if (!(thrown instanceof ToolFailure) || thrown.code === 'failed') return throwError(() => thrown);
        return of<Elicited>({ action: thrown.code === 'denied' ? 'decline' : 'cancel' });
      }),
    );
  };
}

function toQuestion({ mode, message, url, requestedSchema }: JsonObject): AskOptions<PlainSchema> {
  const isPage = mode === 'url';
  const schema = isPage ? noParameters : toAnswerSchema(objectOrEmpty(requestedSchema));
  const details = isPage ? { details: { url: toAddress(url) } } : {};
  return { message: typeof message === 'string' ? message : '', schema, ...details };
}

/** A server could send `javascript:`, characters that control a terminal, or the name of another site before an `@`. */
function toAddress(url: unknown): string {
  const address = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  const isPage = address && /^https?:$/.test(address.protocol) && address.username + address.password === '';
  if (isPage) return address.href;
  const problem = 'does not begin with https:// or http://, or has a user';
  throw refusal(`The MCP server asks a person to open an address that ${problem}.`);
}

/** Patterns are omitted: the server's could block the process. The server itself checks them. */
function toAnswerSchema({ properties, required }: JsonObject): PlainSchema {
  const fields = Object.fromEntries(
    Object.entries(objectOrEmpty(properties)).map(([name, field]) => [name, omit(objectOrEmpty(field), 'pattern')]),
  );
  const names = asArray(required).filter((name) => typeof name === 'string');
  return {
    type: 'object',
    properties: fields,
    ...(names.length > 0 ? { required: names } : {}),
    validate: (answer: JsonObject) => {
      for (const name of names) if (!Object.hasOwn(answer, name)) throw new Error(`"${name}" is missing`);
      for (const [name, value] of Object.entries(answer))
        requireType(name, value, Object.hasOwn(fields, name) ? fields[name] : undefined);
      return answer;
    },
  };
}

const types: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  array: (value) => Array.isArray(value),
};

function requireType(name: string, value: JsonValue, field: JsonObject | undefined): void {
  if (!field) throw new Error(`"${name}" is not asked for`);
  const { type } = field;
  const isOfType = typeof type !== 'string' || !Object.hasOwn(types, type) || types[type]?.(value);
  if (!isOfType) throw new Error(`"${name}" is not of the type ${type}`);
  const allowed = [
    ...asArray(field['enum']),
    ...asArray(field['oneOf']).map((option) => objectOrEmpty(option)['const']),
  ];
  if (allowed.length > 0 && !allowed.includes(value)) throw new Error(`"${name}" is not one of the possible values`);
}

/** The model reads why the call has failed. */
export const refusal = (message: string): ProtocolError => new ProtocolError('mcp', 'frame', message, '');

/** The addresses that a server of an earlier revision requires to be opened before the call, as an error has them. */
export function requiredPages(thrown: unknown): readonly JsonObject[] {
  if (!isRecord(thrown) || thrown['code'] !== URL_ELICITATION_REQUIRED) return [];
  return asArray(objectOrEmpty(thrown['data'])['elicitations']).map(objectOrEmpty);
}

const URL_ELICITATION_REQUIRED = -32_042;
