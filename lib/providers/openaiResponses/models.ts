export const provider = 'openai';

// Patterns of model names, from OpenAI's page "Models" and from `AllModels` in the SDK openai 7.57.
const nonReasoningModels = /^(gpt-3|gpt-4|chatgpt-|gpt-audio|gpt-5(\.\d+)?-chat)/;
const reasoningModels = /^(o\d|gpt-[5-9]|gpt-oss|gpt-daybreak|gpt-rosalind|codex|computer-use)/;

/** Undefined if the name does not show it (Azure). Other models reject a request for encrypted reasoning. */
export function isReasoningModel(model: string): boolean | undefined {
  const name = ((model as string | undefined) ?? '').replace(/^(ft:|.*\/)/, ''); // without one, the first request fails
  if (nonReasoningModels.test(name)) return false;
  return reasoningModels.test(name) ? true : undefined;
}
