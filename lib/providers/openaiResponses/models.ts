/** The provider's name: in errors, and as the key of its provider data, options and metadata. */
export const provider = 'openai-responses';

/** OpenAI's families of models (its page "Models"). */
const nonReasoningModels = /^(gpt-3|gpt-4|chatgpt-|gpt-5(\.\d+)?-chat)/;
const reasoningModels = /^(o\d|gpt-5|gpt-oss|codex|computer-use)/;

/**
 * Whether a model reasons, by its name; undefined for a name that does not say (a deployment on Azure). Fine-tunes
 * (`ft:o4-mini:...`) and gateways (`openai/gpt-5`) put something before the name.
 *
 * It has to be known before a request: encrypted reasoning is only sent when requested, and a model that does not reason
 * refuses a request for it ("Encrypted content is not supported with this model").
 */
export function isReasoningModel(model: string): boolean | undefined {
  const name = model.replace(/^(ft:|.*\/)/, '');
  if (nonReasoningModels.test(name)) return false;
  return reasoningModels.test(name) ? true : undefined;
}
