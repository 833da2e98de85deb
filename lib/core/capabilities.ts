import { ConfigurationError } from './errors.js';
import type { FilePart } from './message.js';
import type { Capabilities, Model, Request } from './model.js';

/** A capability by name. */
export type Capability = keyof Capabilities;

/** What each capability is, in the words of an error. */
const descriptions: Readonly<Record<Capability, string>> = {
  tools: 'call tools',
  multiToolCalls: 'make several tool calls in one turn',
  typedOutput: 'answer by a JSON Schema',
  typedOutputWithTools: 'answer by a JSON Schema in a request that has tools',
  thinking: 'think',
  vision: 'read images',
  files: 'read documents',
};

/** The capabilities that a request asks for. */
export function requiredCapabilities({
  tools = [],
  output,
  messages,
  thinking,
  parallelToolCalls,
}: Request): readonly Capability[] {
  const withTools = tools.length > 0;
  const files = messages.flatMap(({ role, parts }) =>
    role === 'user' ? parts.filter((part) => part.type === 'file') : [],
  );
  const asked: Readonly<Record<Capability, boolean>> = {
    tools: withTools,
    multiToolCalls: withTools && parallelToolCalls === true,
    typedOutput: output !== undefined,
    typedOutputWithTools: output !== undefined && withTools,
    thinking: thinking !== undefined && thinking !== false,
    vision: files.some(isImage),
    files: files.some(isDocument),
  };
  return (Object.keys(asked) as Capability[]).filter((capability) => asked[capability]);
}

const isImage = ({ mediaType }: FilePart): boolean => /^image\//i.test(mediaType);

/** Texts go as text, and for sound and film there is no data: no document, then. */
const isDocument = ({ mediaType }: FilePart): boolean => /^application\/(pdf|msword|vnd\.)/i.test(mediaType);

/**
 * Checks, before a request, that the model can do what it asks for. What is not known of a model is allowed: its server will tell.
 *
 * @param model Whose capabilities count.
 * @param request What is asked for.
 * @param whoCan The providers that have models with a capability, for the error: the core knows none. Default: none is named.
 * @throws ConfigurationError `capability` for the first wish that the model is known not to meet.
 */
export function requireCapabilities(
  { provider, name, capabilities = {} }: Pick<Model, 'provider' | 'name' | 'capabilities'>,
  request: Request,
  whoCan: Readonly<Partial<Record<Capability, readonly string[]>>> = {},
): void {
  if (!Object.values(capabilities).includes(false)) return;
  const missing = requiredCapabilities(request).find((wish) => capabilities[wish] === false);
  if (missing === undefined) return;
  const others = whoCan[missing] ?? [];
  throw new ConfigurationError(
    'capability',
    `${provider}:${name} cannot ${descriptions[missing]} (capability ${missing}).`,
    `${others.length > 0 ? `Providers of models that can: ${others.join(', ')}. ` : ''}Use a model that can, or, if this one can, say so: { capabilities: { ${missing}: true } }.`,
  );
}
