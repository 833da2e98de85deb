export { mcpSignIn } from './mcpSignIn.js';
export type { McpSignIn } from './mcpSignIn.js';
export { mcpTools } from './mcpTools.js';
export type { McpClient } from './client.js';
export type { McpTool } from './mcpTools.js';
