import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';

/** A tool as Chat Completions names it, and as Responses does. */
interface OfferedTool {
  readonly function?: { readonly name: string };
  readonly name?: string;
}

/** Serves responses to the requests of the documents: each tool of a block is called once. */
export async function serveAnswers(): Promise<LoopbackServer> {
  const args: Record<string, object> = {
    weather: { city: 'Oslo' },
    clock: {},
    search: { query: 'rivers' },
    'get-sum': { a: 20, b: 22 },
    analyse: { prompt: 'How many orders are there?' },
    query: { sql: 'select count(*) from orders' },
  };
  const script: Parameters<typeof serveModel>[0] = ({ body, history }) => {
    const tools = ((body as { tools?: OfferedTool[] }).tools ?? []).map(
      (offered) => offered.function?.name ?? offered.name ?? '',
    );
    const answered = history.some(({ parts }) => parts.some(({ type }) => type === 'toolResult'));
    const calls = answered
      ? []
      : tools.filter((name) => name in args).map((name) => toolCall(name, args[name] as never));
    const schema = outputSchema(body);
    if (calls.length === 0 && schema) return [JSON.stringify(answerTo(schema))];
    return [{ type: 'thinking', text: 'hm' }, 'Said the model.', ...calls];
  };
  return serveModel(script, {
    forRequest: ({ headers }) => (headers['authorization'] === 'Bearer sk-wrong' ? { status: 401 } : undefined),
  });
}

/** The schema of the output that a request asks for, as Chat Completions and Responses send it. */
function outputSchema(body: object): { readonly properties: object } | undefined {
  const { response_format: format, text } = body as {
    response_format?: { json_schema?: { schema: { properties: object } } };
    text?: { format?: { schema?: { properties: object } } };
  };
  return format?.json_schema?.schema ?? text?.format?.schema;
}

/** The values of typed answers, by their names. */
const values: Readonly<Record<string, string | number>> = {
  name: 'Oslo',
  people: 717_710,
  city: 'Lisbon',
  degrees: 17,
};

const answerTo = ({ properties }: { readonly properties: object }) =>
  Object.fromEntries(Object.keys(properties).map((name) => [name, values[name] ?? null]));

/** A `fetch` that sends the requests to OpenAI, and to a local server of Ollama, to the server of the documents. */
export const toServer =
  (serverUrl: string, realFetch: typeof fetch): typeof fetch =>
  (url, init) =>
    realFetch(
      (url instanceof Request ? url.url : url.toString()).replace(
        /^https:\/\/api\.openai\.com\/v1|^http:\/\/localhost:11434\/v1/,
        serverUrl,
      ),
      init,
    );
