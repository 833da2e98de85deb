/** The numbers in the report of a context that is too long, as far as it names them. */
export interface ContextLength {
  readonly limit?: number | undefined;
  readonly tokens?: number | undefined;
}

/** The codes of a context that is too long, in lower case, without separators. */
const codes: readonly string[] = [
  'contextlengthexceeded', // OpenAI, Azure, Groq, Cerebras: github.com/ChatGPTNextWeb/NextChat/issues/625
  'exceedcontextsizeerror', // llama.cpp: github.com/ggml-org/llama.cpp/pull/15780
];

/**
 * The messages of a context that is too long. Several providers have no code for it: they report it as any other
 * invalid request. The patterns contain the numbers of the messages where possible, since another error may quote what
 * the user wrote.
 */
const messages: readonly RegExp[] = [
  // OpenAI: github.com/webtimemachine/wtm2/issues/579
  /maximum context length is (?<limit>[\d,]+) tokens\. However, your messages resulted in (?<tokens>[\d,]+)/,
  // OpenRouter: github.com/refly-ai/refly/issues/1177; vLLM, DeepSeek: github.com/vllm-project/vllm/issues/20409
  /maximum context length is (?<limit>[\d,]+) tokens[.,] however,? you requested (?:about )?(?<tokens>[\d,]+)/i,
  // vLLM, where the input and max_tokens together are too long
  /maximum context length is (?<limit>[\d,]+) tokens and your request has (?<tokens>[\d,]+) input tokens/,
  /maximum context length is (?<limit>[\d,]+) tokens/,
  // SGLang and gateways
  /exceeds (?:the )?model's maximum context length (?:of )?\(?(?<limit>[\d,]+)/,
  // vLLM: github.com/proxysoul/Empryo/issues/52
  /passed (?<tokens>[\d,]+) input tokens.*context length is only (?<limit>[\d,]+) tokens/,
  // OpenAI Responses: github.com/dyad-sh/dyad/issues/1672
  /input exceeds the context window of this model/,
  // Anthropic: github.com/anthropics/claude-code/issues/12186
  /prompt is too long: (?<tokens>[\d,]+) tokens > (?<limit>[\d,]+) maximum/,
  // Anthropic: github.com/docker/docker-agent/issues/569
  /input length and `?max_tokens`? exceed context limit: (?<tokens>[\d,]+) \+ [\d,]+ > (?<limit>[\d,]+)/,
  // Fireworks
  /prompt is too long: (?<tokens>[\d,]+), model maximum context length: (?<limit>[\d,]+)/,
  // Google: github.com/google-gemini/gemini-cli/issues/6678
  /input token count (?:\((?<tokens>[\d,]+)\) )?exceeds the maximum number of tokens allowed \(?(?<limit>[\d,]+)/,
  // Google Vertex AI
  /input token count is (?<tokens>[\d,]+) but (?:the )?model only supports up to (?<limit>[\d,]+)/,
  // Mistral: docs.mistral.ai/resources/known-limitations
  /prompt contains (?<tokens>[\d,]+) tokens.*too large for model with (?<limit>[\d,]+) maximum context length/i,
  // Cohere, not its error of a max_tokens that is too large: docs.cohere.com/reference/errors
  /too many tokens: total number of tokens .*cannot exceed (?<limit>[\d,]+) - received (?<tokens>[\d,]+)/,
  /too many tokens: size limit exceeded by [\d,]+ tokens(?:.*limit for this model is (?<limit>[\d,]+))?/,
  // Ollama, with `truncate: false`; by default it shortens the prompt: github.com/ollama/ollama/pull/17944
  /prompt too long; exceeded (?:max )?context length by [\d,]+ tokens/,
  // llama.cpp, and the models that Ollama runs with it: github.com/ollama/ollama/issues/17889
  /request (?:\((?<tokens>[\d,]+) tokens\) )?exceeds the available context size(?: \((?<limit>[\d,]+) tokens\))?/,
  // LM Studio: github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546
  /keep the first (?<tokens>[\d,]+) tokens.*context length of only (?<limit>[\d,]+) tokens/,
  // Together
  /input \((?<tokens>[\d,]+) tokens\) is longer than the model's context length \((?<limit>[\d,]+) tokens\)/,
  // Text Generation Inference: github.com/bytedance/UI-TARS-desktop/issues/626
  /`inputs` tokens \+ `max_new_tokens` must be <= (?<limit>[\d,]+)\. Given: (?<tokens>[\d,]+) `inputs`/,
  // Text Generation Inference: github.com/meta-llama/llama/issues/1103
  /`inputs` must have less than (?<limit>[\d,]+) tokens\. Given: (?<tokens>[\d,]+)/,
  // xAI: github.com/cline/cline/issues/3120
  /maximum prompt length is (?<limit>[\d,]+) but the request contains (?<tokens>[\d,]+) tokens/,
  // Amazon Bedrock: repost.aws/knowledge-center/bedrock-validation-exception-errors
  /input is too long for requested model/i,
  // Moonshot
  /exceeded model token limit: (?<limit>[\d,]+)(?: \(requested: (?<tokens>[\d,]+)\))?/,
];

/**
 * Reads the report of a context that is too long.
 *
 * @param message The provider's message.
 * @param providerCodes The codes of the error.
 * @returns The numbers that the message names; undefined if this is another error.
 */
export function readContextLength(message: string, providerCodes: readonly string[]): ContextLength | undefined {
  for (const pattern of messages) {
    const match = pattern.exec(message);
    if (match) return { limit: number(match.groups?.['limit']), tokens: number(match.groups?.['tokens']) };
  }
  return providerCodes.some(isContextLengthCode) ? {} : undefined;
}

/** Whether a provider's code means that a context is too long. */
export const isContextLengthCode = (code: string): boolean => codes.includes(code.toLowerCase().replace(/[^a-z]/g, ''));

const number = (digits: string | undefined): number | undefined =>
  digits === undefined ? undefined : Number(digits.replaceAll(',', ''));
