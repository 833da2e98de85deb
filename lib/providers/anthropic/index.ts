// The entry point `rivulet/anthropic`: Anthropic's model (which `rivulet` exports too), and the tools that Anthropic
// runs on its servers or defines for yours, with the types of their options.
export { anthropic } from './anthropic.js';
export { anthropicTools } from './serverTools.js';
export type { AnthropicTool } from './serverTools.js';
export type { BashInput, MemoryInput, TextEditorInput } from './clientTools.js';
export type { ComputerAction } from './computer.js';
