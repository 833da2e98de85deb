import { from, map, of, take, type Observable, type ObservableInput } from 'rxjs';
import { toolsError } from '../core/errors.js';
import { isRecord, nonEmptyString, type JsonObject } from '../core/json/json.js';
import { toolCallsOf, type Message } from '../core/message.js';
import { requireOptions } from '../core/requireOptions.js';
import { tool, type Tool } from '../core/tool.js';
import { namesOf, withToolName } from '../core/toolNames.js';
import { scoreTools, type ToolScore } from './scoreTools.js';
import type { Plain } from '../core/typesOf.js';

export interface ToolCatalogueOptions<A extends readonly Tool[] = readonly Tool[]> {
  /** Tools that each request has. Default: none. */
  readonly always?: A | undefined;
  /** How many tools a search finds at most. Default: 5. */
  readonly count?: number | undefined;
  /** The name of the tool that searches. Default: `search_tools`. */
  readonly name?: string | undefined;
  /**
   * One number for each tool, in their order; 0 or less is not found. Default: BM25 over the names, and the first
   * 10,000 characters of the descriptions with the names of parameters.
   */
  readonly score?: ToolScore | undefined;
}

interface TurnTools {
  readonly tools: readonly Tool[];
}

/** A catalogue of tools, as the options of an agent. */
export interface ToolCatalogue<T extends Tool, Turn extends TurnTools | Observable<TurnTools>> {
  /** For the option `tools`: all tools, so that waiting calls and checkpoints know them. */
  readonly tools: readonly T[];
  /** For the option `prepareTurn`: the tool that searches, those of `always`, and what was found or called before. */
  readonly prepareTurn: (state: { readonly messages: readonly Message[] }) => Turn;
}

/**
 * Lets the model search in thousands of tools: a request has only a search tool, and the tools that were found.
 *
 * <span class="informal">A large catalogue for the price of one tool.</span>
 *
 * What was found stays for the rest of the conversation. It is read from the history, so that it survives a checkpoint,
 * another process and a new run; a tool that the catalogue no longer has is left out.
 *
 * ```ts
 * const catalogue = toolCatalogue(hundredsOfTools, { always: [today] });
 * const agent = createAgent({ model, ...catalogue });
 * ```
 *
 * A catalogue that changes is an Observable of lists, whose first value counts for each turn and each search:
 * `toolCatalogue(mcpTools(client).pipe(shareReplay(1)))`. In such a list, a tool with the name of an earlier one, or of
 * the search tool, is left out.
 *
 * @param tools The tools, or an Observable (Promise ...) of lists of tools.
 * @param options `always`, `count` (default: 5), `name` (default: `search_tools`), `score`.
 * @returns The options `tools` and `prepareTurn` of an agent. If `tools` is an Observable, that option has only the
 * search tool and those of `always`.
 * @throws ConfigurationError `options` for an option of another type, and `tools` for a tool with the name of the
 * search tool.
 */
export function toolCatalogue<const T extends Tool, const A extends readonly Tool[] = readonly []>(
  tools: readonly T[],
  options?: ToolCatalogueOptions<A>,
): ToolCatalogue<T | A[number] | SearchTool, Plain<TurnTools>>;
export function toolCatalogue<const A extends readonly Tool[] = readonly []>(
  tools: ObservableInput<readonly Tool[]>,
  options?: ToolCatalogueOptions<A>,
): ToolCatalogue<A[number] | SearchTool, Observable<Plain<TurnTools>>>;
export function toolCatalogue(
  tools: readonly Tool[] | ObservableInput<readonly Tool[]>,
  options: ToolCatalogueOptions = {},
): ToolCatalogue<Tool, TurnTools | Observable<TurnTools>> {
  requireOptions('toolCatalogue', options, { always: 'array', count: 1, name: 'string', score: 'function' });
  const { always = [], name = 'search_tools' } = options;
  const list = isList(tools) ? tools : undefined;
  const first = isList(tools) ? of(tools) : from(tools).pipe(take(1), map(withOtherNames(name)));
  const search = createSearch(first, name, options);
  const constant = [search, ...always];
  const turnTools = (messages: readonly Message[], all: readonly Tool[]): TurnTools => {
    const names = namesIn(messages, name, namesOf(all));
    const found = all.filter((one) => names.has(one.name) && !always.some((other) => other.name === one.name));
    return { tools: [...constant, ...found] };
  };
  requireOtherNames(name, [...always, ...(list ?? [])]);
  return {
    tools: [...constant, ...(list ?? []).filter((one) => !always.includes(one))],
    prepareTurn: ({ messages }) =>
      list ? turnTools(messages, list) : first.pipe(map((all) => turnTools(messages, all))),
  };
}

const isList = (tools: readonly Tool[] | ObservableInput<readonly Tool[]>): tools is readonly Tool[] =>
  Array.isArray(tools);

/** The arguments have the `query`, the result the names and descriptions of what was found. */
type SearchTool = Tool<string, { readonly query: string }, Plain<FoundTools>, never>;

interface FoundTools {
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly hint?: string;
}

const parameters = {
  type: 'object',
  properties: { query: { type: 'string', description: 'What the tools have to do, in a few words.' } },
  required: ['query'],
} as const;

function createSearch(
  lists: Observable<readonly Tool[]>,
  name: string,
  { count = 5, score = scoreTools }: ToolCatalogueOptions,
): SearchTool {
  const find = (query: string, list: readonly Tool[]): FoundTools => {
    const scores = score(query, list);
    const found = list
      .map((one, index) => ({ one, points: scores[index] ?? 0 }))
      .filter(({ points }) => points > 0)
      .sort((a, b) => b.points - a.points)
      .slice(0, count);
    if (found.length === 0) return { tools: [], hint: 'No tool matches. Search with other words.' };
    return { tools: found.map(({ one }) => ({ name: one.name, description: one.description })) };
  };
  return tool({
    name,
    description:
      'Searches the catalogue of tools. From then on, you can call the tools that it finds. ' +
      'Search before you say that something cannot be done.',
    parameters,
    execute: (args) => lists.pipe(map((list) => find(nonEmptyString(args['query']) ?? '', list))),
  }) as unknown as SearchTool;
}

function namesIn(messages: readonly Message[], search: string, all: ReadonlySet<string>): ReadonlySet<string> {
  const found = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'toolResult' && part.name === search ? foundNames(part.result) : [])),
  );
  return new Set([...found, ...messages.flatMap(toolCallsOf).map((call) => withToolName(call, all).name)]);
}

function foundNames(result: unknown): readonly string[] {
  const tools: unknown = isRecord(result) ? result['tools'] : undefined;
  const names = Array.isArray(tools) ? tools.map((one: JsonObject) => one['name']) : [];
  return names.filter((name) => typeof name === 'string');
}

/** Servers choose the names of a list that changes: a request with the same name twice would fail. */
function withOtherNames(search: string) {
  return (tools: readonly Tool[]): readonly Tool[] => {
    const names = new Set([search]);
    return tools.filter((one) => names.size < names.add(one.name).size);
  };
}

function requireOtherNames(name: string, tools: readonly Tool[]): void {
  if (!tools.some((one) => one.name === name)) return;
  throw toolsError(
    `toolCatalogue: a tool of the catalogue is named "${name}", as the tool that searches.`,
    'Set the option "name" to another name.',
  );
}
