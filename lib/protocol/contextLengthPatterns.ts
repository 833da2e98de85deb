/**
 * The messages with which servers other than OpenAI's report a context that is too long. Several have no code for it:
 * they report it as any other invalid request. The patterns contain the numbers of the messages where possible, since
 * another error may quote what the user wrote.
 *
 * They are apart from OpenAI's, so that a program that uses OpenAI alone does not contain them.
 */
export const contextLengthPatterns: readonly RegExp[] = [
  // OpenRouter: github.com/refly-ai/refly/issues/1177; vLLM, DeepSeek: github.com/vllm-project/vllm/issues/20409
  /maximum context length is (?<limit>[\d,]+) tokens[.,] however,? you requested (?:about )?(?<tokens>[\d,]+)/i,
  // vLLM, where the input and max_tokens together are too long
  /maximum context length is (?<limit>[\d,]+) tokens and your request has (?<tokens>[\d,]+) input tokens/,
  // SGLang and gateways
  /exceeds (?:the )?model's maximum context length (?:of )?\(?(?<limit>[\d,]+)/,
  // vLLM: github.com/proxysoul/Empryo/issues/52
  /passed (?<tokens>[\d,]+) input tokens.*context length is only (?<limit>[\d,]+) tokens/,
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
  // Ollama, before it counts the tokens: github.com/nano-step/nano-brain/issues/208
  /the input length exceeds the context length/,
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
