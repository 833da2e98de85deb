/** How a family of models is told to think: not at all, by a budget of tokens, as it sees fit (by an effort), or so and never not. */
export type ThinkingKind = 'none' | 'budget' | 'adaptive' | 'always';

/** What the models of a family have in common, as far as a request depends on it. */
export interface Family {
  /** The longest answer, in tokens, thinking included. */
  readonly maxTokens: number;
  readonly thinking: ThinkingKind;
  /** An adaptive family that still takes a budget. */
  readonly budgets?: true;
  /** Answers by a JSON Schema (`output_config.format`). */
  readonly typedOutput: boolean;
}

/**
 * Families by the names of their models, the first that fits. Names also come with a prefix or dots (`anthropic/claude-sonnet-4.5` at gateways,
 * `anthropic.claude-opus-4-6-v1` at Bedrock).
 *
 * Sources: "Models overview" (limits; of the 4.6 family the pages disagree, the lower limit is taken for Sonnet), "Adaptive thinking" (who takes
 * a budget, whose thinking cannot be switched off) and "Structured outputs" (from 4.1 Opus and the 4.5 family on) at platform.claude.com.
 */
const families: readonly (readonly [RegExp, Family])[] = [
  [/claude-(3-(opus|sonnet|haiku)|2|instant)/, { maxTokens: 4096, thinking: 'none', typedOutput: false }],
  [/claude-3-5/, { maxTokens: 8192, thinking: 'none', typedOutput: false }],
  [/claude-3-7/, { maxTokens: 64_000, thinking: 'budget', typedOutput: false }],
  [/claude-opus-4-1(?!\d)/, { maxTokens: 32_000, thinking: 'budget', typedOutput: true }],
  [/claude-(opus|sonnet|haiku)-4-5/, { maxTokens: 64_000, thinking: 'budget', typedOutput: true }],
  [/claude-opus-4-6/, { maxTokens: 128_000, thinking: 'adaptive', budgets: true, typedOutput: true }],
  [/claude-sonnet-4-6/, { maxTokens: 64_000, thinking: 'adaptive', budgets: true, typedOutput: true }],
  [/claude-opus-4-[7-9]/, { maxTokens: 128_000, thinking: 'adaptive', typedOutput: true }],
  [/claude-opus-4/, { maxTokens: 32_000, thinking: 'budget', typedOutput: false }],
  [/claude-(sonnet|haiku)-4/, { maxTokens: 64_000, thinking: 'budget', typedOutput: false }],
  [/claude-(fable|mythos|opus-5-5)/, { maxTokens: 128_000, thinking: 'always', typedOutput: true }],
  [/claude-[a-z]+-\d/, { maxTokens: 128_000, thinking: 'adaptive', typedOutput: true }],
];

/** Of other servers' models behind the same API: a limit that none refuses, and thinking in the form that they took over. */
const unknown: Family = { maxTokens: 4096, thinking: 'budget', typedOutput: true };

/** The family of a model. */
export function familyOf(model: string): Family {
  const name = model.toLowerCase().replaceAll('.', '-');
  return families.find(([pattern]) => pattern.test(name))?.[1] ?? unknown;
}
