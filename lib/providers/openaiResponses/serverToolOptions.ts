import type { JsonObject } from '../../core/json/json.js';

/** How the web is searched. */
export interface WebSearchOptions {
  /** The domains to search, with their subdomains, without `https://`. Default: all. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** How much of what was found the model gets to read. Default: the API's, `medium`. */
  readonly contextSize?: 'low' | 'medium' | 'high' | undefined;
  /** Where the user is, roughly. Country: two letters; time zone: as IANA names it. Default: not said. */
  readonly location?:
    | { readonly city?: string; readonly region?: string; readonly country?: string; readonly timezone?: string }
    | undefined;
  /** Whether the metadata lists all pages that were looked at, not only those cited. Default: false. */
  readonly sources?: boolean | undefined;
}

/** How files are searched. */
export interface FileSearchOptions {
  /** The vector stores that hold the files. */
  readonly vectorStoreIds: readonly string[];
  /** A filter over the files' attributes, as the API has it: `{ type: 'eq', key: 'year', value: 2024 }`. Default: none. */
  readonly filters?: JsonObject | undefined;
  /** How many passages at most, 1 to 50. Default: the API's. */
  readonly maxResults?: number | undefined;
  /** Default: the API's, `auto`. */
  readonly ranker?: string | undefined;
  /** What a passage must reach to count, 0 to 1. Default: the API's. */
  readonly scoreThreshold?: number | undefined;
  /** Whether the metadata holds the passages that were found. Default: false. */
  readonly results?: boolean | undefined;
}

/** Where code runs. */
export interface CodeInterpreterOptions {
  /** The id of a container that exists. Default: the conversation's own. */
  readonly container?: string | undefined;
  /** Uploaded files that a new container gets. Default: none. */
  readonly fileIds?: readonly string[] | undefined;
  /** The memory of a new container. Default: the API's, `1g`. */
  readonly memoryLimit?: '1g' | '4g' | '16g' | '64g' | undefined;
  /** Whether what the code printed and showed comes back: images as files, logs in the metadata. Default: true. */
  readonly outputs?: boolean | undefined;
}

/** How images are made. Each field is left to the API's default when absent. */
export interface ImageGenerationOptions {
  /** The image model. */
  readonly model?: string | undefined;
  /** Whether to make a new image or to change one of the conversation. */
  readonly action?: 'generate' | 'edit' | 'auto' | undefined;
  /** Width and height in pixels (`1024x1536`), or `auto`. */
  readonly size?: string | undefined;
  readonly quality?: 'low' | 'medium' | 'high' | 'auto' | undefined;
  readonly format?: 'png' | 'webp' | 'jpeg' | undefined;
  /** 0 to 100, for `webp` and `jpeg`. */
  readonly compression?: number | undefined;
  readonly background?: 'transparent' | 'opaque' | 'auto' | undefined;
  readonly moderation?: 'auto' | 'low' | undefined;
  /** How closely given images are kept to. */
  readonly inputFidelity?: 'high' | 'low' | undefined;
  /** How many images to show on the way, 0 to 3. */
  readonly partialImages?: number | undefined;
}

/** A remote MCP server, by `serverUrl`, or a connector of OpenAI's, by `connectorId`. */
export type McpOptions = {
  /** The server's name, in calls and requests for approval. */
  readonly serverLabel: string;
  /** What the server is for, for the model. Default: not said. */
  readonly description?: string | undefined;
  /** The only tools the model may call. Default: all. */
  readonly allowedTools?: readonly string[] | undefined;
  /** Whether calls wait for an approval: all, none, or by the tool's name. Default: the API's, `always`. */
  readonly requireApproval?:
    'always' | 'never' | { readonly always?: readonly string[]; readonly never?: readonly string[] } | undefined;
  /** Headers for the server. OpenAI does not keep them; they are in no error. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** An OAuth access token for the server. It is in no error. Default: none. */
  readonly authorization?: string | undefined;
} & (
  | { readonly serverUrl: string; readonly connectorId?: never }
  | { /** `connector_gmail`, ... */ readonly connectorId: string; readonly serverUrl?: never }
);
