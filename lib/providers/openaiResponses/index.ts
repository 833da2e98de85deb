// The entry point `rivulet/openai`: OpenAI's models (which `rivulet` exports too), and the tools of its Responses API,
// those that OpenAI runs and those that your code answers, with the types of their options and arguments.
export { openai } from '../openai.js';
export { openaiResponses } from './openaiResponses.js';
export type { ResponsesOptions } from './openaiResponses.js';
export { mcpApproval, responsesTools } from './serverTools.js';
export type { ResponsesTool } from './serverTools.js';
export type {
  CodeInterpreterOptions,
  FileSearchOptions,
  ImageGenerationOptions,
  McpOptions,
  WebSearchOptions,
} from './serverToolOptions.js';
export type {
  ComputerAction,
  CustomToolOptions,
  LocalShellAction,
  PatchOperation,
  SafetyCheck,
  ShellAction,
  ShellOutput,
  ShellToolOptions,
  ToolSearchOptions,
} from './clientToolOptions.js';
export { webSocketTransport } from './webSocketTransport.js';
export type {
  WebSocketClass,
  WebSocketLike,
  WebSocketTransport,
  WebSocketTransportOptions,
} from './webSocketTransport.js';
