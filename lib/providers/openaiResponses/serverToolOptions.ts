import type { JsonObject } from '../../core/json/json.js';

/** The options of the web search. */
export interface WebSearchOptions {
  /** The only domains to search, without `https://`; subdomains are included. Default: all. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** How much of the results the model reads. Default: the API's, `medium`. */
  readonly contextSize?: 'low' | 'medium' | 'high' | undefined;
  /** The user's approximate location. Country: two letters; time zone: its IANA name. Default: not sent. */
  readonly location?:
    | { readonly city?: string; readonly region?: string; readonly country?: string; readonly timezone?: string }
    | undefined;
  /** Whether the metadata lists all visited pages, not only the cited ones. Default: false. */
  readonly sources?: boolean | undefined;
}

/** The options of the file search. */
export interface FileSearchOptions {
  /** The vector stores that hold the files. */
  readonly vectorStoreIds: readonly string[];
  /**
   * A filter for the files' attributes, in the API's format: `{ type: 'eq', key: 'year', value: 2024 }`. Default: none.
   */
  readonly filters?: JsonObject | undefined;
  /** The maximum number of passages, 1 to 50. Default: the API's. */
  readonly maxResults?: number | undefined;
  /** The ranker. Default: the API's, `auto`. */
  readonly ranker?: string | undefined;
  /** The minimum score of a passage, 0 to 1. Default: the API's. */
  readonly scoreThreshold?: number | undefined;
  /** Whether the metadata lists the passages that were found. Default: false. */
  readonly results?: boolean | undefined;
}

/** The options of the code interpreter. */
export interface CodeInterpreterOptions {
  /** The id of an existing container. Default: the conversation's own. */
  readonly container?: string | undefined;
  /** The ids of uploaded files for a new container. Default: none. */
  readonly fileIds?: readonly string[] | undefined;
  /** The memory of a new container. Default: the API's, `1g`. */
  readonly memoryLimit?: '1g' | '4g' | '16g' | '64g' | undefined;
  /** Whether the output of the code is returned: images as files, logs in the metadata. Default: true. */
  readonly outputs?: boolean | undefined;
}

/** The options of the image generation. An absent field is left to the API's default. */
export interface ImageGenerationOptions {
  /** The image model. */
  readonly model?: string | undefined;
  /** Whether to make a new image or to edit one of the conversation. */
  readonly action?: 'generate' | 'edit' | 'auto' | undefined;
  /** Width and height in pixels (`1024x1536`), or `auto`. */
  readonly size?: string | undefined;
  readonly quality?: 'low' | 'medium' | 'high' | 'auto' | undefined;
  readonly format?: 'png' | 'webp' | 'jpeg' | undefined;
  /** 0 to 100, for `webp` and `jpeg`. */
  readonly compression?: number | undefined;
  readonly background?: 'transparent' | 'opaque' | 'auto' | undefined;
  readonly moderation?: 'auto' | 'low' | undefined;
  /** How closely the input images are followed. */
  readonly inputFidelity?: 'high' | 'low' | undefined;
  /** The number of partial images, 0 to 3. */
  readonly partialImages?: number | undefined;
}

/** The options of a remote MCP server (`serverUrl`), or of one of OpenAI's connectors (`connectorId`). */
export type McpOptions = {
  /** The server's name, in calls and requests for approval. */
  readonly serverLabel: string;
  /** The purpose of the server, for the model. Default: not sent. */
  readonly description?: string | undefined;
  /** The only tools that the model may call. Default: all. */
  readonly allowedTools?: readonly string[] | undefined;
  /** Whether calls require an approval: all, none, or by the tool's name. Default: the API's, `always`. */
  readonly requireApproval?:
    'always' | 'never' | { readonly always?: readonly string[]; readonly never?: readonly string[] } | undefined;
  /** Headers for the server. OpenAI does not store them; no error contains them. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** An OAuth access token for the server. No error contains it. Default: none. */
  readonly authorization?: string | undefined;
} & (
  | { readonly serverUrl: string; readonly connectorId?: never }
  | { /** `connector_gmail`, ... */ readonly connectorId: string; readonly serverUrl?: never }
);
