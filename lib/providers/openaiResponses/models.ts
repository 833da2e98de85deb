/** OpenAI's families of models (its page "Models"), also where a fine-tune (`ft:o4-mini:...`) or a gateway (`openai/gpt-5`) puts something before. */
const plain = /^(gpt-3|gpt-4|chatgpt-|gpt-5(\.\d+)?-chat)/;
const reasoning = /^(o\d|gpt-5|gpt-oss|codex|computer-use)/;

/**
 * Whether a model reasons, by its name; undefined for a name that tells nothing (a deployment on Azure).
 *
 * It has to be known before a request: encrypted reasoning must be asked for to be had, and a model that does not reason refuses a request that asks
 * ("Encrypted content is not supported with this model").
 */
export function reasons(model: string): boolean | undefined {
  const name = model.replace(/^(ft:|.*\/)/, '');
  if (plain.test(name)) return false;
  return reasoning.test(name) ? true : undefined;
}

/** The provider's name: in errors, and as the key of its provider data, options and metadata. */
export const provider = 'openai-responses';
