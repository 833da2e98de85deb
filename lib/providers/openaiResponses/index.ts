// The entry point `rivulet/openai`: OpenAI's models (which `rivulet` exports too), and the tools of its Responses API,
// those that OpenAI runs and those that your code answers, with the types of their options and arguments.
export { openai } from '../openai.js';
export { openaiChat } from '../openaiChat.js';
export { background } from './background.js';
export { mcpApproval, responsesTools } from './serverTools.js';
export type { ResponsesTool } from './serverTools.js';
export { webSocketTransport } from './webSocketTransport.js';
export type { WebSocketClass, WebSocketTransport } from './webSocketTransport.js';
export type {
  ComputerAction,
  LocalShellAction,
  PatchOperation,
  ShellAction,
  ShellOutput,
} from './clientToolOptions.js';
