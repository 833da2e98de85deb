export { McpToolError } from './result.js';
export { mcpTools } from './mcpTools.js';
export type { McpClient } from './client.js';
export type { McpCallOptions, McpProgress } from './callTool.js';
export type { McpTool, McpToolsOptions } from './mcpTools.js';
