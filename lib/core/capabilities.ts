import { capabilityError } from './errors.js';
import { growing } from './growing.js';
import type { FilePart, Message } from './message.js';
import type { Capabilities, Model, ModelRequest } from './model.js';

export type Capability = keyof Capabilities;

/** Completes the sentence "The model cannot …" of the error message. */
const descriptions: Readonly<Record<Capability, string>> = {
  tools: 'call tools',
  multiToolCalls: 'make several tool calls in one turn',
  typedOutput: 'follow a JSON Schema',
  typedOutputWithTools: 'follow a JSON Schema in a request that has tools',
  thinking: 'think',
  vision: 'read images',
  files: 'read documents',
};

export function requiredCapabilities({
  tools = [],
  output,
  messages,
  thinking,
  parallelToolCalls,
}: ModelRequest): readonly Capability[] {
  const withTools = tools.length > 0;
  const files = fileCapabilities(messages);
  const required: Readonly<Record<Capability, boolean>> = {
    tools: withTools,
    multiToolCalls: withTools && parallelToolCalls === true,
    typedOutput: output !== undefined,
    typedOutputWithTools: output !== undefined && withTools,
    thinking: thinking !== undefined && thinking !== false,
    vision: files.includes('vision'),
    files: files.includes('files'),
  };
  return (Object.keys(required) as Capability[]).filter((capability) => required[capability]);
}

const fileCapabilities = /* @__PURE__ */ growing<Message, readonly Capability[]>([], (known, { role, parts }) => {
  const files = role === 'user' ? parts.filter((part) => part.type === 'file') : [];
  const added = files.map(fileCapability).filter((capability) => capability !== undefined);
  return added.every((capability) => known.includes(capability)) ? known : [...new Set([...known, ...added])];
});

const isImage = ({ mediaType }: FilePart): boolean => /^image\//i.test(mediaType);

export function fileCapability(file: FilePart): 'vision' | 'files' | undefined {
  if (isImage(file)) return 'vision';
  return isDocument(file) ? 'files' : undefined;
}

/** Text files are sent as text, and no capability exists for audio and video. */
const isDocument = ({ mediaType }: FilePart): boolean => /^application\/(pdf|msword|vnd\.)/i.test(mediaType);

/**
 * Checks, before a request, that the model has the required capabilities. An unknown capability is allowed: the server
 * decides.
 *
 * @param model The model whose capabilities are checked.
 * @param request The request that requires them.
 * @param providersWith For each capability, the providers whose models have it, for the error message. The core itself
 * does not know any provider. Default: none.
 * @throws ConfigurationError `capability` for the first required capability that is declared false.
 */
export function requireCapabilities(
  { provider, name, capabilities = {} }: Pick<Model, 'provider' | 'name' | 'capabilities'>,
  request: ModelRequest,
  providersWith: Readonly<Partial<Record<Capability, readonly string[]>>> = {},
): void {
  if (!Object.values(capabilities).includes(false)) return;
  const missing = requiredCapabilities(request).find((capability) => capabilities[capability] === false);
  if (missing === undefined) return;
  const others = providersWith[missing] ?? [];
  const alternatives = others.length > 0 ? `Providers with such models: ${others.join(', ')}. ` : '';
  throw capabilityError(
    `${provider}:${name} cannot ${descriptions[missing]} (capability ${missing}).`,
    `${alternatives}Use a model that has the capability. If this model has it, declare it: ` +
      `{ capabilities: { ${missing}: true } }.`,
  );
}
