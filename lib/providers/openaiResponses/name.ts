/** The provider's name: in errors, and as the key of its provider data, options and metadata. */
export const provider = 'openai-responses';
