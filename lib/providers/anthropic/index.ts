// The entry point `rivulet/anthropic`: Anthropic's model (which `rivulet` exports too), and the tools that Anthropic
// runs on its servers or defines for yours, with the types of their options.
export { anthropic } from './anthropic.js';
export type { AnthropicOptions } from './anthropic.js';
export { anthropicTools } from './serverTools.js';
export type { AnthropicTool, CodeExecutionOptions, WebFetchOptions, WebSearchOptions } from './serverTools.js';
export type { BashInput, ClientToolOptions, MemoryInput, TextEditorInput } from './clientTools.js';
export type { ComputerAction, ComputerOptions } from './computer.js';
