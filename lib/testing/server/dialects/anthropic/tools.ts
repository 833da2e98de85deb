import { isRecord, nonEmptyString } from '../../../../core/json/json.js';

/** SDK 1.12, `BetaToolUnion`. Toolsets have no name. */
const toolTypes: readonly (readonly [RegExp, string | undefined])[] = [
  [/^bash_\d{8}$/, 'bash'],
  [/^text_editor_20250124$/, 'str_replace_editor'],
  [/^text_editor_\d{8}$/, 'str_replace_based_edit_tool'],
  [/^memory_\d{8}$/, 'memory'],
  [/^computer_\d{8}$/, 'computer'],
  [/^web_search_\d{8}$/, 'web_search'],
  [/^web_fetch_\d{8}$/, 'web_fetch'],
  [/^code_execution_\d{8}$/, 'code_execution'],
  [/^advisor_\d{8}$/, 'advisor'],
  [/^tool_search_tool_regex(_\d{8})?$/, 'tool_search_tool_regex'],
  [/^tool_search_tool_bm25(_\d{8})?$/, 'tool_search_tool_bm25'],
  [/^(computer|browser)_toolset_\d{8}$|^mcp_toolset$/, undefined],
];

export function toolsObjection({ tools, tool_choice }: Record<string, unknown>): string | undefined {
  if (tools === undefined)
    return tool_choice === undefined ? undefined : 'tool_choice may only be specified while providing tools.';
  if (!Array.isArray(tools) || !tools.every(isRecord)) return 'tools: Input should be a valid list';
  const objection = tools.map((tool, at) => toolObjection(tool, at)).find((found) => found !== undefined);
  if (objection !== undefined) return objection;
  if (tools.length > 0 && tools.every((tool) => tool['defer_loading'] === true))
    return 'All tools have defer_loading set. At least one tool must be non-deferred.';
  const names = tools.map(({ name }) => name).filter((name) => name !== undefined);
  return new Set(names).size < names.length ? 'tools: Tool names must be unique.' : undefined;
}

function toolObjection(tool: Record<string, unknown>, at: number): string | undefined {
  const type = nonEmptyString(tool['type']) ?? 'custom';
  const option = ['strict', 'defer_loading'].find((field) => !['undefined', 'boolean'].includes(typeof tool[field]));
  if (option !== undefined) return `tools.${at}.${option}: Input should be a valid boolean`;
  const { input_schema: schema, name } = tool;
  if (type === 'custom')
    return isRecord(schema) && schema['type'] === 'object'
      ? undefined
      : `tools.${at}.custom.input_schema.type: Field required`;
  const known = toolTypes.find(([pattern]) => pattern.test(type));
  if (!known) return `tools.${at}: Input tag '${type}' found using 'type' does not match any of the expected tags`;
  const extra = ['input_schema', 'description'].find((field) => tool[field] !== undefined);
  if (extra !== undefined) return `tools.${at}.${type}.${extra}: Extra inputs are not permitted`;
  const [, expected] = known;
  if (name === expected) return undefined;
  return expected === undefined
    ? `tools.${at}.${type}.name: Extra inputs are not permitted`
    : `tools.${at}.${type}.name: Input should be '${expected}'`;
}
