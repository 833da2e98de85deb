import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The deprecated models, as the comments and tables of the newest SDKs list them. No default is one of them. `npm run
 * drift` compares the list with the SDKs; the last one is announced in Google's list of deprecations.
 */
export const deprecatedModels: readonly string[] = [
  'gpt-5.4-nano',
  'gpt-5.4-nano-2026-03-17',
  'gpt-5.1',
  'gpt-5.1-2025-11-13',
  'gpt-5.3-chat-latest',
  'gpt-5.2-chat-latest',
  'gpt-5.1-codex',
  'gpt-5.1-chat-latest',
  'gpt-5-chat-latest',
  'gpt-4o-search-preview',
  'gpt-4o-mini-search-preview',
  'gpt-4o-search-preview-2025-03-11',
  'gpt-4o-mini-search-preview-2025-03-11',
  'gpt-5.1-mini',
  'gpt-5',
  'gpt-5-mini',
  'gpt-5-nano',
  'gpt-5-2025-08-07',
  'gpt-5-mini-2025-08-07',
  'gpt-5-nano-2025-08-07',
  'o3',
  'o3-2025-04-16',
  'gpt-4.1',
  'gpt-4.1-mini',
  'gpt-4.1-2025-04-14',
  'gpt-4.1-mini-2025-04-14',
  'gpt-4o',
  'gpt-4o-2024-11-20',
  'gpt-4o-2024-08-06',
  'gpt-4o-mini',
  'gpt-4o-mini-2024-07-18',
  'gpt-4.1-nano',
  'gpt-4.1-nano-2025-04-14',
  'o4-mini',
  'o4-mini-2025-04-16',
  'o3-mini',
  'o3-mini-2025-01-31',
  'o1',
  'o1-2024-12-17',
  'gpt-4o-2024-05-13',
  'gpt-4-turbo',
  'gpt-4-turbo-2024-04-09',
  'gpt-4-1106-preview',
  'gpt-4',
  'gpt-4-0613',
  'gpt-3.5-turbo',
  'gpt-3.5-turbo-0125',
  'o1-preview',
  'o1-preview-2024-09-12',
  'o1-mini',
  'o1-mini-2024-09-12',
  'gpt-audio-mini',
  'gpt-audio-mini-2025-12-15',
  'gpt-4o-audio-preview',
  'gpt-4o-audio-preview-2024-12-17',
  'gpt-4o-audio-preview-2025-06-03',
  'gpt-4o-mini-audio-preview',
  'gpt-4o-mini-audio-preview-2024-12-17',
  'gpt-4o-audio-preview-2024-10-01',
  'chatgpt-4o-latest',
  'codex-mini-latest',
  'gpt-4-0125-preview',
  'gpt-4-turbo-preview',
  'gpt-4-0314',
  'gpt-4-vision-preview',
  'gpt-4-32k',
  'gpt-4-32k-0314',
  'gpt-4-32k-0613',
  'gpt-3.5-turbo-16k',
  'gpt-3.5-turbo-0301',
  'gpt-3.5-turbo-0613',
  'gpt-3.5-turbo-16k-0613',
  'gpt-3.5-turbo-1106',
  'claude-sonnet-4-5',
  'claude-sonnet-4-5-20250929',
  'claude-mythos-preview',
  'claude-opus-4-5',
  'claude-opus-4-5-20251101',
  'gemini-2.5-flash',
];

/** Where Anthropic's SDK has its list: since 1.13, and before. */
const anthropicFiles = [
  '@anthropic-ai/sdk/internal/data/deprecated-models.js',
  ['@anthropic-ai/sdk', 'resources/messages/messages.js'].join('/'),
];

/** Reads the deprecated models from the SDKs: OpenAI's comment on `ChatModel`, and Anthropic's `DEPRECATED_MODELS`. */
export function readDeprecatedModels(packages: string): readonly string[] {
  const read = (path: string) => readFileSync(join(packages, path), 'utf8');
  const openai = /Deprecated values:(.*?)\*\/\s*export type ChatModel\b/s.exec(read('openai/resources/shared.d.ts'));
  const anthropicFile = anthropicFiles.find((path) => existsSync(join(packages, path))) ?? '';
  const anthropic = /DEPRECATED_MODELS\s*=\s*\{(.*?)\}/s.exec(read(anthropicFile));
  if (!openai?.[1] || !anthropic?.[1]) throw new Error('The lists of deprecated models are not where they were.');
  const openaiModels = [...openai[1].matchAll(/"([^"]+)"/g)].map(([, model = '']) => model);
  const anthropicModels = [...anthropic[1].matchAll(/'([^']+)':/g)].map(([, model = '']) => model);
  return [...openaiModels, ...anthropicModels];
}
