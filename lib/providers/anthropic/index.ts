export { anthropic } from './anthropic.js';
export { anthropicTools } from './serverTools.js';
export type { AnthropicTool } from './serverTools.js';
export type { BashInput, MemoryInput, TextEditorInput } from './clientTools.js';
export type { ComputerAction } from './computer.js';
