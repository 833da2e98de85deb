export { McpToolError } from './result.js';
export { mcpSignIn } from './mcpSignIn.js';
export type { McpSignIn } from './mcpSignIn.js';
export { mcpTools } from './mcpTools.js';
export type { McpClient } from './client.js';
export type { McpCallOptions, McpProgress } from './callTool.js';
export type { McpTool, McpToolsOptions } from './mcpTools.js';
