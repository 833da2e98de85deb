export const provider = 'openai-responses';

// Patterns of model names, from OpenAI's page "Models" and from `AllModels` in the SDK openai 7.57.
const nonReasoningModels = /^(gpt-3|gpt-4|chatgpt-|gpt-audio|gpt-5(\.\d+)?-chat)/;
const reasoningModels = /^(o\d|gpt-[5-9]|gpt-oss|gpt-daybreak|gpt-rosalind|codex|computer-use)/;

/**
 * Whether a model reasons, according to its name; undefined if the name does not show it (for example, the name of a
 * deployment on Azure). Fine-tunes (`ft:o4-mini:...`) and gateways (`openai/gpt-5`) add a prefix to the name. This has
 * to be known before a request: the API sends encrypted reasoning only if the request asks for it, and rejects such a
 * request for a model that does not reason ("Encrypted content is not supported with this model").
 */
export function isReasoningModel(model: string): boolean | undefined {
  const name = model.replace(/^(ft:|.*\/)/, '');
  if (nonReasoningModels.test(name)) return false;
  return reasoningModels.test(name) ? true : undefined;
}
